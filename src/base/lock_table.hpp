// SPDX-License-Identifier: BSD-3-Clause
// LockTable: who holds which range of which file, and who waits for it. Only the order of requests
// counts here; lock_server talks to the owners.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "base/lock_service.hpp"

namespace oratorio {

/// Used by one thread.
class LockTable {
  public:
    using Owner = std::uint64_t;
    struct Request {
        LockKey file;
        Extent range;
        bool exclusive = false;
    };

    /// Returns true if the lock is granted at once. Otherwise a later release() grants it. A
    /// request waits for every earlier one that conflicts with it, granted or not: requests of one
    /// range are served in their order, so no owner starves. REQUIRES: `owner` has no request here.
    bool request(Owner owner, const Request& wanted);
    /// Drops the owner's lock, or its wait for one, and returns the owners that hold theirs from
    /// now on. Does nothing for an owner without a request.
    std::vector<Owner> release(Owner owner);
    [[nodiscard]] bool has(Owner owner) const { return of_.contains(owner); }
    /// Requests of all owners.
    [[nodiscard]] std::size_t size() const { return of_.size(); }

  private:
    struct Entry {
        Owner owner;
        Request wanted;
        bool granted;
    };
    using Entries = std::list<Entry>;  ///< of one file, in the order of the requests

    static bool may_have(const Entries& entries, Entries::const_iterator one);

    std::map<LockKey, Entries> files_;
    std::map<Owner, Entries::iterator> of_;
};

}  // namespace oratorio
