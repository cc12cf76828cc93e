// SPDX-License-Identifier: BSD-3-Clause
// In an ordered write of little data by ranks that share memory, each rank brings its data to the
// rendezvous in which the ranks claim their places. The last rank to arrive writes the data of all
// ranks with one system call, because in rank order the data is contiguous in the file. So the
// ranks need no second rendezvous, and no rank waits for the inode's lock.
#include "file/ordered.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "comm/agreed.hpp"
#include "comm/rendezvous.hpp"

namespace oratorio {

namespace {

/// What a rank contributes to the rendezvous, and what it gets back. The rank's data follows in
/// memory.
struct Part {
    Reservation reservation;  ///< the addition to the shared file pointer, in etypes
    Bytes etype_bytes = 0;
    Offset view_begins = 0;  ///< the view's displacement in bytes
    Bytes bytes = -1;        ///< length of the data that follows; -1: none follows
    bool written = false;
    Bytes moved = 0;
    Error failed;  ///< why writing failed
};

class Meeting {
  public:
    explicit Meeting(const Blocks& all) : all_(all) {}
    [[nodiscard]] Part& part(Rank rank) const {
        return *reinterpret_cast<Part*>(all_.of(rank).data());
    }
    /// Returns true if each rank contributed its data (which may be empty), and all views have the
    /// same displacement and etype size.
    [[nodiscard]] bool all_here() const {
        const Part& one = part(0);
        for (Rank rank = 0; rank < all_.ranks; ++rank) {
            const Part& other = part(rank);
            if (other.bytes < 0 || other.etype_bytes != one.etype_bytes ||
                other.view_begins != one.view_begins)
                return false;
        }
        return true;
    }
    [[nodiscard]] Bytes bytes() const {
        Bytes sum = 0;
        for (Rank rank = 0; rank < all_.ranks; ++rank) sum += part(rank).bytes;
        return sum;
    }
    /// Returns all data, in rank order.
    [[nodiscard]] std::vector<iovec> data() const {
        std::vector<iovec> memory;
        for (Rank rank = 0; rank < all_.ranks; ++rank) {
            Part& one = part(rank);
            if (one.bytes > 0) memory.push_back({&one + 1, static_cast<std::size_t>(one.bytes)});
        }
        return memory;
    }
    /// Records the outcome for each rank: its share of the leading bytes that were written.
    void tell(Transferred done, Rank here) const {
        for (Rank rank = 0; rank < all_.ranks; ++rank) {
            Part& one = part(rank);
            one.written = true;
            one.moved = std::min(one.bytes, done.bytes);
            done.bytes -= one.moved;
            if (done.error.kind != ErrorKind::none) one.failed = done.error.on(here);
        }
    }

  private:
    Blocks all_;
};

}  // namespace

Result<OrderedPlace> claim_in_order(Transport& ranks, const View& view, const Access& access,
                                    Offset etypes, bool brings, const WriteAll& write) {
    if (!ranks.in_memory() || rendezvous_max(ranks) <= sizeof(Part)) {
        const auto start = reserve(ranks, etypes);
        if (!start) return start.error();
        return OrderedPlace{*start, {}};
    }
    std::vector<std::byte> block(rendezvous_max(ranks));
    Part& mine = *new (block.data()) Part;
    mine.reservation.by = etypes;
    mine.etype_bytes = view.etype_size;
    mine.view_begins = view.file.origin;
    if (brings && access.bytes() <= static_cast<Bytes>(block.size() - sizeof(Part))) {
        mine.bytes = access.bytes();
        if (mine.bytes > 0)
            std::memcpy(&mine + 1, access.buffer + access.memory.origin,
                        static_cast<std::size_t>(mine.bytes));
    }
    const auto told = rendezvous(ranks, block, [&](const Blocks& all) {
        const Meeting meeting(all);
        reserve_for_all(ranks, all);
        const auto first = meeting.part(0).reservation.value();
        if (!first || !meeting.all_here()) return;
        const auto from = view.data_position(*first, meeting.bytes());
        if (!from) return;
        const auto data = meeting.data();
        const Transferred done =
            data.empty() ? Transferred{} : write(view.file.origin + *from, data);
        meeting.tell(done, ranks.topology().rank);
    });
    if (!told) return told.error();
    const auto start = mine.reservation.value();
    if (!start) return start.error();
    OrderedPlace claimed{*start, {}};
    if (mine.written) claimed.moved = Outcome{mine.moved, mine.failed};
    return claimed;
}

}  // namespace oratorio
