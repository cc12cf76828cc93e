// SPDX-License-Identifier: BSD-3-Clause
// Ordered accesses with the shared file pointer (MPI-4.1, 14.4.4): where each rank's data begins.
// Ranks that share memory bring small data of a write along when they claim their places, and the
// last rank to come writes all of it with one system call. That takes one meeting of the ranks
// instead of two, and no rank waits for the inode's lock. The data is contiguous in the file,
// because it follows in rank order.
#include <vector>

#include "file/state.hpp"

namespace oratorio {

namespace {

/// What a rank brings to the meeting and takes from it. The rank's data follows in memory.
struct Part {
    Reservation reservation;  ///< in etypes
    Bytes etype_bytes = 0;
    Offset view_begins = 0;  ///< the view's displacement in bytes
    Bytes bytes = -1;        ///< length of the data that follows; -1: the rank brings none along
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
    /// Returns false if some rank brought no data along, or if the ranks' views differ.
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

Result<Offset> File::State::claim_in_order(Placed& placed) {
    if (!transport->in_memory() || transport->rendezvous_max() <= sizeof(Part))
        return reserve(*transport, placed.etypes);
    const Access& access = placed.access;
    std::vector<std::byte> block(transport->rendezvous_max());
    Part& mine = *new (block.data()) Part;
    mine.reservation.by = placed.etypes;
    mine.etype_bytes = place.view.etype_size;
    mine.view_begins = place.view.file.origin;
    const bool fits = access.bytes() <= static_cast<Bytes>(block.size() - sizeof(Part));
    if (placed.may_move && access.direction == Direction::write &&
        access.refused.kind == ErrorKind::none && fits &&
        (access.bytes() == 0 || is_one_piece(access))) {
        mine.bytes = access.bytes();
        if (mine.bytes > 0)
            std::memcpy(&mine + 1, access.buffer + access.memory.origin,
                        static_cast<std::size_t>(mine.bytes));
    }
    const auto told = transport->rendezvous(block, [this](const Blocks& all) {
        const Meeting meeting(all);
        reserve_for_all(*transport, all);
        const auto first = meeting.part(0).reservation.value();
        if (!first || !meeting.all_here()) return;
        const View& view = place.view;
        const auto from = view.data_position(*first, meeting.bytes());
        if (!from) return;
        const auto data = meeting.data();
        const Transferred done = data.empty()
                                     ? Transferred{}
                                     : move_now(Direction::write, view.file.origin + *from, data);
        meeting.tell(done, transport->topology().rank);
    });
    if (!told) return told.error();
    if (mine.written) {
        placed.moved = Outcome{mine.moved, mine.failed};
        if (opened.explain)
            opened.messages.say(opened.path +
                                ": ordered write of small data: the last rank to come "
                                "wrote it all at once");
    }
    return mine.reservation.value();
}

}  // namespace oratorio
