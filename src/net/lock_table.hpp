// SPDX-License-Identifier: BSD-3-Clause
// LockTable: which owner holds which range of which file, and which owners wait for it. The table
// decides which requests are granted, and sends nothing; lock_server communicates with the owners.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "net/lock_service.hpp"

namespace oratorio {

/// REQUIRES: one thread uses it.
class LockTable {
  public:
    using Owner = std::uint64_t;
    struct Request {
        LockKey file;
        Extent range;
        bool exclusive = false;
    };

    /// Returns true if the lock is granted at once; otherwise a later release() grants it. A
    /// request waits for every earlier one that conflicts with it, granted or not. So requests of
    /// one range are served in order, and no owner starves. REQUIRES: `owner` has no request in the
    /// table.
    bool request(Owner owner, const Request& wanted);
    /// Removes the owner's request, granted or not, and returns the owners whose requests this
    /// grants. Does nothing for an owner without a request.
    std::vector<Owner> release(Owner owner);
    [[nodiscard]] bool has(Owner owner) const { return of_.contains(owner); }
    /// Returns the number of requests of all owners.
    [[nodiscard]] std::size_t size() const { return of_.size(); }

  private:
    struct Entry {
        Owner owner;
        Request wanted;
        bool granted;
    };
    using Entries = std::list<Entry>;  ///< requests for one file, in their order

    static bool may_have(const Entries& entries, Entries::const_iterator one);

    std::map<LockKey, Entries> files_;
    std::map<Owner, Entries::iterator> of_;
};

}  // namespace oratorio
