// SPDX-License-Identifier: BSD-3-Clause
#include "file/unsynced_writes.hpp"

#include <utility>

#include "comm/agreed.hpp"

namespace oratorio {

Error UnsyncedWrites::take_undelivered(Transport& ranks) {
    const UndeliveredErrors mine = std::exchange(undelivered_, {});
    if (!std::exchange(sparse_, false)) return mine.first;
    const auto same = agree_on_equal(ranks, mine.writes, "the list of reported failures");
    if (same) return {};
    return same.error().kind == ErrorKind::not_same ? mine.first : same.error();
}

}  // namespace oratorio
