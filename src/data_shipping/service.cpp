// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/service.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "type/run_table.hpp"
#include "type/shape_codec.hpp"

namespace oratorio {

namespace {

constexpr Extent kWholeFile{0, INT64_MAX};
constexpr std::size_t kAtOnce = 64;  // maximum of outstanding pieces in an asynchronous store

/// The runs of the file that a request describes.
class Wanted {
  public:
    Wanted(std::span<const std::byte> table) : table_(std::in_place, table, kWholeFile) {}
    Wanted(BoundRuns bound) : bound_(std::move(bound)) {}
    /// Returns the next run; count 0 if there is none, or if the table is invalid.
    StridedRun next() {
        if (bound_) return bound_->next(INT64_MAX).run;
        return table_->at_end() ? StridedRun{} : table_->next();
    }

  private:
    std::optional<RunTableReader> table_;
    std::optional<BoundRuns> bound_;
};

Error damaged() {
    return Error::make(ErrorKind::internal, "a request to an agent is invalid");
}

/// Returns true if the data lies within the layout, so that a walk over it ends, and if the
/// layout's offsets aren't negative.
bool is_within(const Layout& layout, const RequestHead& head) {
    return head.from >= 0 && head.from <= head.to && head.to <= layout.size() &&
           layout.origin >= 0 && layout.shape->span().begin >= 0;
}

Result<Wanted> wanted_of(const RequestHead& head, std::span<const std::byte> description,
                         const Binding& binding, int agent) {
    if (head.description == Description::list) return Wanted(description);
    auto layout = decode(description);
    if (!layout) return layout.error();
    if (!is_within(*layout, head)) return damaged();
    return Wanted(BoundRuns(*layout, {head.from, head.to}, binding, agent));
}

bool has_bytes(Wanted wanted, std::uint64_t bytes) {
    for (StridedRun run = wanted.next(); run.count > 0; run = wanted.next()) {
        Bytes of_run = 0;
        if (__builtin_mul_overflow(run.length, run.count, &of_run)) return false;
        if (static_cast<std::uint64_t>(of_run) > bytes) return false;
        bytes -= static_cast<std::uint64_t>(of_run);
    }
    return bytes == 0;
}

}  // namespace

/// Moves the pieces of one request, and joins adjacent ones. Starts no further piece after a
/// failure, and none at or past the end of the file that a read has met.
class Service::Job {
  public:
    Job(Store& store, const RequestHead& head, std::span<std::byte> data, ReplyHead& reply)
        : transfer_(store),
          at_once_(store.limits().asynchronous ? kAtOnce : 1),
          direction_(head.direction()),
          data_(data),
          reply_(reply) {
        reply_.end = INT64_MAX;
    }

    void run(Wanted& wanted) {
        for (StridedRun run = wanted.next(); run.count > 0; run = wanted.next()) {
            for (std::int64_t i = 0; i < run.count; ++i)
                add(run.offset + i * run.stride, run.length);
        }
        begin();
        while (transfer_.outstanding() > 0) take_one();
        reply_.calls = transfer_.calls();
    }

  private:
    void add(Offset offset, Bytes length) {
        if (pending_.end != offset || pending_.empty()) {
            begin();
            pending_ = {offset, offset};
        }
        pending_.end += length;
    }

    void begin() {
        const Bytes length = pending_.length();
        // A description in shared memory may have changed since it was checked.
        if (static_cast<std::size_t>(length) > data_.size() - begun_) {
            reply_.error = damaged();
            return;
        }
        const std::span memory = data_.subspan(begun_, static_cast<std::size_t>(length));
        begun_ += memory.size();
        const Extent piece = pending_;
        pending_ = {};
        while (transfer_.outstanding() >= at_once_) take_one();
        const bool failed = reply_.error.kind != ErrorKind::none;
        if (length == 0 || failed || piece.begin >= reply_.end) return;
        const iovec one{memory.data(), memory.size()};
        const auto slot =
            static_cast<std::size_t>(std::ranges::find(pieces_, Extent{}) - pieces_.begin());
        if (transfer_.move_or_start(direction_, piece.begin, std::span(&one, 1), slot)) {
            count(length);
        } else {
            pieces_[slot] = piece;
        }
    }

    void take_one() {
        Transferred done;
        if (!transfer_.poll(done, true)) return;
        const Extent piece = std::exchange(pieces_[done.token], {});
        count(done.bytes);
        if (done.error.kind != ErrorKind::none) {
            if (reply_.error.kind == ErrorKind::none) reply_.error = done.error;
        } else if (done.bytes < piece.length()) {
            reply_.end = std::min(reply_.end, piece.begin + done.bytes);
        }
    }

    void count(Bytes bytes) {
        reply_.storage += static_cast<std::uint64_t>(bytes);
        if (direction_ == Direction::write) reply_.moved += bytes;
    }

    Transfer transfer_;
    std::size_t at_once_;
    Direction direction_;
    std::span<std::byte> data_;
    ReplyHead& reply_;
    Extent pending_;
    std::size_t begun_ = 0;                 ///< data bytes of the pieces begun so far
    std::array<Extent, kAtOnce> pieces_{};  ///< outstanding pieces; empty: free
};

ReplyHead Service::serve(const RequestHead& head, std::span<const std::byte> description,
                         std::span<std::byte> data) {
    ReplyHead reply{.number = head.number};
    try {
        auto wanted = wanted_of(head, description, binding_, agent_);
        if (!wanted) {
            reply.error = wanted.error();
        } else if (data.size() != head.data || !has_bytes(*wanted, head.data)) {
            reply.error = damaged();
        } else {
            Job(store_, head, data, reply).run(*wanted);
        }
    } catch (const std::bad_alloc&) {
        reply.error = Error::make(ErrorKind::no_memory, "no memory for an agent's request");
    }
    if (reply.error.kind == ErrorKind::none) reply.data = head.sent_back();
    return reply;
}

}  // namespace oratorio
