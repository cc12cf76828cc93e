// SPDX-License-Identifier: BSD-3-Clause
// The rules of MPI-4.1, 14.6.1 "File Consistency", in one page:
//
// - Accesses conflict if they have a byte in common and one of them writes. No access, through any
//   handle, undoes, delays or overwrites one with which it does not conflict.
// - Of two conflicting accesses one comes after the other for certain only in the three cases (a),
//   (b) and (c) of is_before(). Collective accesses don't synchronise; only barriers and messages
//   do.
// - A read may return the bytes of any write there, except of a write that is certain to have been
//   overwritten before the read began, or certain to begin after the read ended.
// - Two concurrent atomic accesses through one open happen one after the other as a whole: of two
//   writes, the same one is on top in all bytes that both write.
// - At the end, when all ranks have closed the file, each of its bytes is that of some write there
//   that isn't certain to have been overwritten.
// - A write that failed may have happened in part, and overwrites nothing for certain.
#include "oracle/rules.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace oratorio::oracle {

bool Rules::is_before(const Access& earlier, const Access& later) {
    const auto rank = static_cast<std::size_t>(earlier.rank);
    // (a) Both are by one process through one handle, and the first has ended when the second
    // begins.
    if (earlier.rank == later.rank && earlier.handle == later.handle && earlier.end < later.begin)
        return true;
    // (b) Both are atomic, through handles of one open, and the second begins when its process
    // knows that the first has ended.
    if (earlier.handle == later.handle && earlier.atomic && later.atomic &&
        later.known[rank] >= earlier.end)
        return true;
    // (c) Through any handles: a sync or close follows the first, then barriers or messages, then a
    // sync or open before the second.
    return later.refreshed[rank] >= earlier.flushed;
}

bool Rules::is_future(const Access& write, const Access& read) {
    return write.known[static_cast<std::size_t>(read.rank)] >= read.end;
}

/// Returns true if another write certainly comes after `write` and before `reader`, and sets `by`
/// to it.
bool Rules::overwritten(const Access& write, const Access& reader, Offset at,
                        const Access** by) const {
    return any_writer(at, [&](const Access& other) {
        *by = &other;
        return &other != &write && !other.failed && comes_before(other, reader) &&
               comes_before(write, other);
    });
}

std::string Rules::judge(const Access& reader, Offset at, std::byte found) const {
    const Access* const write = writer_of(at, found);
    const Access* by = nullptr;
    const auto kind = [&] { return std::string(&reader == &after_all_ ? "lost" : "stale"); };
    // A zero can be the byte from before the program, or the result of any change of size.
    if (found == std::byte{0}) {
        if (old_value(at) == found && !overwritten(before_all_, reader, at, &by)) return "";
        for (const Resize& resize : resizes_) {
            if (resize.size <= at && !is_future(resize.as, reader) &&
                !overwritten(resize.as, reader, at, &by))
                return "";
        }
        return kind() + ": found zero, as if no rank had written;" + explain(reader, at, found);
    }
    if (write == nullptr)
        return "foreign: found a byte that no rank writes there;" + explain(reader, at, found);
    if (is_future(*write, reader))
        return "future: found what is written later, by " + name(*write) + ";" +
               explain(reader, at, found);
    if (!overwritten(*write, reader, at, &by)) return "";
    return kind() + ": found " + name(*write) + ", which " + name(*by) + " overwrote;" +
           explain(reader, at, found);
}

std::string Rules::check_read(int access, Offset at, std::byte found) const {
    return judge(accesses[static_cast<std::size_t>(access)], at, found);
}

std::string Rules::check_end(Offset at, std::byte found) const {
    return judge(after_all_, at, found);
}

std::string Rules::check_atomic(int access, const std::vector<std::byte>& found) const {
    const Access& reader = accesses[static_cast<std::size_t>(access)];
    if (!reader.atomic) return "";
    const auto counts = [&](const Access& write) {
        return write.atomic && !write.failed && write.handle == reader.handle &&
               (write.begin <= reader.end || write.rank != reader.rank);
    };
    std::vector<int> seen(accesses.size());
    std::vector<int> unseen(accesses.size());
    std::size_t index = 0;
    const auto look_at = [&](Offset at, std::byte byte) {
        any_writer(at, [&](const Access& write) {
            if (write.id >= accesses.size() || !counts(write)) return false;
            const bool other = any_writer(at, [&](const Access& one) {
                return &one != &write && !comes_before(one, write) && !is_future(one, reader);
            });
            if (!other) ++(writer_of(at, byte) == &write ? seen : unseen)[write.id];
            return false;
        });
    };
    for (const Piece& piece : reader.pieces) {
        for (Offset at = piece.at; at < piece.at + piece.length && index < found.size(); ++at)
            look_at(at, found[index++]);
    }
    for (const Access& write : accesses) {
        if (seen[write.id] > 0 && unseen[write.id] > 0)
            return "torn: an atomic read found " + std::to_string(seen[write.id]) + " bytes of " +
                   name(write) + " and missed " + std::to_string(unseen[write.id]);
    }
    return "";
}

std::string Rules::check_mixed(Offset end, const std::function<std::byte(Offset)>& found) const {
    std::set<std::pair<const Access*, const Access*>> over;  // (the write on top, the write below)
    std::string wrong;
    const auto counts = [&](const Access& write) {
        return write.id < accesses.size() && write.atomic && !write.failed;
    };
    for (Offset at = 0; at < std::min(end, data_end()) && wrong.empty(); ++at) {
        const Access* const upper = writer_of(at, found(at));
        if (upper == nullptr || upper == &before_all_ || !counts(*upper)) continue;
        any_writer(at, [&](const Access& lower) {
            if (&lower == upper || !counts(lower) || lower.handle != upper->handle) return false;
            over.emplace(upper, &lower);
            if (over.contains({&lower, upper}))
                wrong = "mixed: at byte " + std::to_string(at) + " " + name(*upper) + " is over " +
                        name(lower) + ", and elsewhere under it";
            return !wrong.empty();
        });
    }
    return wrong;
}

/// Computes the least and the greatest size that the file may have for a reader. A change of size
/// allows any size if it failed, or if its order among the other changes and the reader is not
/// certain.
void Rules::sizes(const Access& reader, Bytes& least, Bytes& most) const {
    const Resize* last = nullptr;
    for (const Resize& resize : resizes_) {
        if (is_before(resize.as, reader)) last = &resize;
    }
    least = most = last != nullptr ? last->size : program_.setting.prefill;
    bool certain = true;
    for (const Resize& resize : resizes_) {
        certain = certain && !resize.as.failed;
        certain = certain && (&resize == last || is_future(resize.as, reader) ||
                              (last != nullptr && is_before(resize.as, last->as)));
    }
    for (const Access& write : accesses) {
        if (write.direction != Direction::write || write.record || is_future(write, reader))
            continue;
        if (last != nullptr && is_before(write, last->as)) continue;
        const bool after_last = last == nullptr || is_before(last->as, write);
        for (const Piece& piece : write.pieces) {
            const Offset end = piece.at + piece.length;
            most = std::max(most, end);
            if (after_last && is_before(write, reader) && !write.failed)
                least = std::max(least, end);
        }
    }
    if (has_log_ || !certain) most = INT64_MAX;
    if (!certain) least = 0;
}

std::string Rules::check_count(int access, Bytes bytes) const {
    const Access& reader = accesses[static_cast<std::size_t>(access)];
    Bytes least = 0;
    Bytes most = 0;
    sizes(reader, least, most);
    Bytes index = 0;
    for (const Piece& piece : reader.pieces) {
        for (Offset at = piece.at; at < piece.at + piece.length; ++at, ++index) {
            if (index < bytes && at >= most)
                return "count: read a byte at " + std::to_string(at) + " of a file of at most " +
                       std::to_string(most) + " bytes: " + name(reader);
            if (index >= bytes && at < least)
                return "count: read " + std::to_string(bytes) + " bytes and not the one at " +
                       std::to_string(at) + " of a file of at least " + std::to_string(least) +
                       " bytes: " + name(reader);
        }
    }
    return "";
}

std::string Rules::check_size(const Access& reader, Bytes size, const std::string& when) const {
    Bytes least = 0;
    Bytes most = 0;
    sizes(reader, least, most);
    if (size >= least && size <= most) return "";
    const std::string more = most > least ? " or up to " + std::to_string(most) : "";
    return "size: the file has " + std::to_string(size) + " bytes " + when + " and should have " +
           std::to_string(least) + more;
}

std::string Rules::check_size(Bytes size) const {
    return check_size(after_all_, size, "at its end");
}

std::string Rules::check_told_size(int step, std::size_t part, Bytes size) const {
    const auto query = std::ranges::find_if(
        size_queries_, [&](const Access& one) { return one.step == step && one.part == part; });
    const std::string rank = std::to_string(query->rank);
    return check_size(*query, size, "as rank " + rank + " got it in #" + std::to_string(step));
}

}  // namespace oratorio::oracle
