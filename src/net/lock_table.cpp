// SPDX-License-Identifier: BSD-3-Clause
#include "net/lock_table.hpp"

#include <algorithm>

namespace oratorio {
namespace {

bool conflict(const LockTable::Request& one, const LockTable::Request& other) {
    return (one.exclusive || other.exclusive) && !intersect(one.range, other.range).empty();
}

}  // namespace

/// Returns true if no earlier request for the file conflicts with this one. The search ends at the
/// first conflict, which is near the front when many requests wait for one range.
bool LockTable::may_have(const Entries& entries, Entries::const_iterator one) {
    return std::none_of(entries.begin(), one, [&](const Entry& earlier) {
        return conflict(earlier.wanted, one->wanted);
    });
}

bool LockTable::request(Owner owner, const Request& wanted) {
    Entries& entries = files_[wanted.file];
    const auto mine = entries.insert(entries.end(), Entry{owner, wanted, false});
    of_[owner] = mine;
    mine->granted = may_have(entries, mine);
    return mine->granted;
}

std::vector<LockTable::Owner> LockTable::release(Owner owner) {
    const auto found = of_.find(owner);
    if (found == of_.end()) return {};
    const Request gone = found->second->wanted;
    const auto file = files_.find(gone.file);
    Entries& entries = file->second;
    auto next = entries.erase(found->second);
    of_.erase(found);
    std::vector<Owner> granted;
    for (; next != entries.end(); ++next) {
        if (next->granted || !conflict(gone, next->wanted)) continue;
        next->granted = may_have(entries, next);
        if (next->granted) granted.push_back(next->owner);
    }
    if (entries.empty()) files_.erase(file);
    return granted;
}

}  // namespace oratorio
