// SPDX-License-Identifier: BSD-3-Clause
// List I/O: moves each piece of an access separately, without data sieving, either directly from or
// to the user's memory or through a small bounce buffer.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "engine/read_ahead.hpp"
#include "engine/work.hpp"
#include "plan/methods.hpp"
#include "type/copy.hpp"

namespace oratorio {

namespace {

// Memory pieces shorter than this on average go through the bounce buffer: an iovec for each would
// cost more than the copy.
constexpr Bytes kPieceInPlaceMin = 1024;
constexpr std::size_t kIovecsMax = 512;  // iovecs per storage call
// Pieces per batch if the plan sets no number; also the maximum for pieces that move directly if
// the store completes requests when they are started. A list of this length stays in the
// first-level cache.
constexpr int kBatchPiecesAtOnce = 16;

/// Moves an access in batches of pieces. A batch is a stretch of the access's data or, if
/// `sliced_`, a round of the plan. All its file pieces may be outstanding at once. With
/// `contiguous` storage, a batch has one file piece.
class ListWork final : public Work {
  public:
    ListWork(const WorkContext& context, const Plan& plan, const Access& access,
             std::span<std::byte> staging)
        : context_(context),
          access_(access),
          reading_(plan.direction == Direction::read),
          staging_(staging),
          transfer_(context.store, &context_.file.stats, Flush::end_of_series),
          file_(access.file),
          memory_(access.memory),
          plan_(plan) {
        const OwnCalls& calls = plan.own_calls();
        if (calls.pieces_at_once > 0) batch_max_ = calls.pieces_at_once;
        const Layout& layout = access.memory;
        const std::int64_t pieces =
            layout.contiguous() ? 1
                                : std::max<std::int64_t>(1, layout.shape->pieces() * layout.count);
        in_place_ = pieces == 1 || access.bytes() / pieces >= kPieceInPlaceMin;
        if (in_place_ && !context.store.limits().asynchronous)
            batch_max_ = std::min(batch_max_, kBatchPiecesAtOnce);
        file_.seek_size(access.from);
        // List I/O that replaces a mapping isn't sliced: the windows of a plan for mappings don't
        // fit into the bounce buffer.
        const bool for_mapping = plan.method->storage_part().extends_first;
        sliced_ = plan.domains.parts() > 1 && !in_place_ && !for_mapping;
        Prefetch* const prefetch = context.store.prefetch();
        const bool cached = context.store.limits().direct(plan.direction).file == 0;
        if (calls.ahead.ranges > 0 && prefetch != nullptr && cached)
            ahead_ = std::make_unique<ReadAhead>(
                *prefetch, access.direction, calls.ahead.ranges,
                std::make_unique<BlockRanges>(
                    access, prefetch->block() > 0 ? prefetch->block() : calls.ahead.block),
                context.file.stats);
    }

    Result<Step> step() override {
        if (transfer_.outstanding() > 0) return reap();
        if (done()) return Step::idle;
        return reading_ ? start_batch() : write_batch();
    }
    bool done() const override {
        return taken_ >= access_.bytes() && transfer_.outstanding() == 0 && !series_;
    }
    const Error& noted() const override { return noted_; }
    Bytes moved() const override { return moved_; }

  private:
    struct Piece {
        Extent file;
        Bytes at = 0;     ///< offset in the bounce buffer
        Bytes data = 0;   ///< position in the access's data
        Bytes bytes = 0;  ///< bytes moved so far
    };

    Step start_batch();
    Result<Step> write_batch();
    void end_series();
    void start_direct(const StridedRun& run);
    void start_staged();
    void start_slice();
    void stage(Bytes bytes);
    void start_transfers();
    void move(std::span<const iovec> memory, std::size_t piece);
    void count(std::size_t piece, Bytes bytes);
    Result<Step> reap();
    void note(const Error& error);
    void end_batch();

    WorkContext context_;
    const Access& access_;
    bool reading_;
    int batch_max_ = kBatchPiecesAtOnce;
    bool in_place_ = false;
    bool sliced_ = false;  ///< batches are rounds of the plan, not stretches in data order
    std::int64_t round_ = 0;
    std::span<std::byte> staging_;
    Transfer transfer_;
    Cursor file_;
    Cursor memory_;
    const Plan& plan_;
    Bytes staged_ = 0;   ///< bytes of the batch in the bounce buffer
    Bytes taken_ = 0;    ///< data bytes in batches begun so far
    Bytes allowed_ = 0;  ///< end of the data that batches may move now; set by the read-ahead
    std::unique_ptr<ReadAhead> ahead_;  ///< null: no read-ahead
    Bytes moved_ = 0;
    std::vector<Piece> batch_;
    std::vector<iovec> iovecs_;
    std::optional<WriteSeries> series_;  ///< the writes that are not flushed yet
    Bytes moved_before_ = 0;             ///< moved_ when they began
    Error noted_;
};

/// Writes a batch and completes it before the step ends, so that nothing is outstanding when this
/// rank enters a collective write, and no lock is held between steps.
Result<Step> ListWork::write_batch() {
    RangeLock held;
    if (!plan_.atomic) {
        auto shared = context_.file.lock_policy.share(context_.store, plan_.hull, plan_.collective);
        if (!shared) {
            note(shared.error());
        } else {
            held = std::move(*shared);
        }
    }
    if (!series_) {
        series_.emplace(context_.store);
        moved_before_ = moved_;
    }
    start_batch();
    while (transfer_.outstanding() > 0) (void)reap();
    const bool locked = held.holds() && context_.store.limits().flush_before_unlock;
    const bool last = taken_ >= access_.bytes();
    if (locked || last || moved_ - moved_before_ >= WriteSeries::kBytesMost) end_series();
    if (const auto unlocked = held.give_back(); !unlocked) note(unlocked.error());
    return Step::progressed;
}

/// Flushes the batches since the last call. If that fails, none of them counts as written.
void ListWork::end_series() {
    const Timing timing(&context_.file.stats, &Stats::storage_time);
    const auto flushed = series_->end();
    series_.reset();
    if (flushed) return;
    moved_ = moved_before_;
    note(flushed.error().at(plan_.hull.begin, plan_.hull.length()));
}

void ListWork::note(const Error& error) {
    if (noted_.kind == ErrorKind::none) noted_ = error.on(context_.file.transport.topology().rank);
}

/// Starts the next batch. Always returns Step::progressed.
Step ListWork::start_batch() {
    if (noted_.kind != ErrorKind::none) {  // start nothing after a failure
        taken_ = access_.bytes();
        return Step::progressed;
    }
    batch_.clear();
    if (taken_ >= allowed_) allowed_ = ahead_ ? ahead_->move_on() : access_.bytes();
    if (!in_place_) {
        staged_ = 0;
        if (sliced_) {
            start_slice();
        } else {
            start_staged();
        }
        start_transfers();
        return Step::progressed;
    }
    while (taken_ < allowed_ && static_cast<int>(batch_.size()) < batch_max_) {
        const std::int64_t pieces_left = batch_max_ - static_cast<int>(batch_.size());
        StridedRun run = file_.next(allowed_ - taken_);
        if (run.count > pieces_left) {
            run.count = pieces_left;
            file_.seek_size(access_.from + taken_ + run.bytes());
        }
        start_direct(run);
    }
    return Step::progressed;
}

/// Transfers directly between file and user memory, with one iovec per memory piece.
void ListWork::start_direct(const StridedRun& run) {
    for (std::int64_t i = 0; i < run.count; ++i) {
        Bytes left = run.length;
        Offset offset = run.offset + i * run.stride;
        while (left > 0) {
            iovecs_.clear();
            const Offset begin = offset;
            while (left > 0 && iovecs_.size() < kIovecsMax) {
                StridedRun piece = memory_.next(left);
                const auto room = static_cast<std::int64_t>(kIovecsMax - iovecs_.size());
                if (piece.count > room) {
                    memory_.seek_size(memory_.tell_size() - (piece.count - room) * piece.length);
                    piece.count = room;
                }
                for (std::int64_t k = 0; k < piece.count; ++k) {
                    iovecs_.push_back({access_.buffer + piece.offset + k * piece.stride,
                                       static_cast<std::size_t>(piece.length)});
                }
                left -= piece.bytes();
                offset += piece.bytes();
            }
            batch_.push_back({{begin, offset}});
            move(iovecs_, batch_.size() - 1);
        }
    }
    taken_ += run.bytes();
}

/// Starts a batch through the bounce buffer: the data of a write is packed before its transfers,
/// and the data of a read is unpacked after them.
void ListWork::start_staged() {
    stage(std::min(static_cast<Bytes>(staging_.size()), allowed_ - taken_));
}

/// Starts a batch with the next round of a sliced plan (plan/domains). Such a round has a little of
/// each of the file's parts that interleave in memory, so memory fetched into the cache for one
/// part is still cached for the others.
void ListWork::start_slice() {
    const Region region = plan_.region(0, round_++);
    for (std::int64_t i = 0; i < region.count; ++i) {
        const Extent extent = region.extent(i);
        file_.seek_offset(extent.end);
        const Bytes last = std::min(file_.tell_size(), access_.from + access_.bytes());
        seek_within(file_, extent.begin, access_.from);
        if (file_.tell_size() < last) stage(last - file_.tell_size());
    }
}

/// Adds the next `bytes` of data to the batch, or fewer if the batch would get too many pieces.
/// Packs the data of a write.
void ListWork::stage(Bytes bytes) {
    const Bytes begin = staged_;
    const Bytes data = file_.tell_size() - access_.from;
    while (staged_ - begin < bytes && (sliced_ || static_cast<int>(batch_.size()) < batch_max_)) {
        StridedRun run = file_.next(bytes - (staged_ - begin));
        const std::int64_t pieces_left =
            sliced_ ? run.count : batch_max_ - static_cast<int>(batch_.size());
        if (run.count > pieces_left) {
            run.count = pieces_left;
            file_.seek_size(access_.from + data + staged_ - begin + run.bytes());
        }
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Offset offset = run.offset + i * run.stride;
            batch_.push_back({{offset, offset + run.length}, staged_, data + staged_ - begin});
            staged_ += run.length;
        }
    }
    taken_ += staged_ - begin;
    if (reading_) return;
    const Timing timing(&context_.file.stats, &Stats::copy_time);
    if (memory_.tell_size() != data) memory_.seek_size(data);
    gather_bytes(memory_, access_.buffer,
                 staging_.subspan(static_cast<std::size_t>(begin),
                                  static_cast<std::size_t>(staged_ - begin)));
    context_.file.stats.bytes_packed += static_cast<std::uint64_t>(staged_ - begin);
}

void ListWork::start_transfers() {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
        const iovec memory{staging_.data() + batch_[i].at,
                           static_cast<std::size_t>(batch_[i].file.length())};
        move(std::span(&memory, 1), i);
    }
    if (transfer_.outstanding() == 0 && reading_) end_batch();
}

void ListWork::move(std::span<const iovec> memory, std::size_t piece) {
    const Extent file = batch_[piece].file;
    const auto direction = reading_ ? Direction::read : Direction::write;
    if (transfer_.move_or_start(direction, file.begin, memory, piece)) count(piece, file.length());
}

void ListWork::count(std::size_t piece, Bytes bytes) {
    batch_[piece].bytes = bytes;
    moved_ += bytes;
    (reading_ ? context_.file.stats.bytes_loaded : context_.file.stats.bytes_stored) +=
        static_cast<std::uint64_t>(bytes);
}

Result<Step> ListWork::reap() {
    bool moved = false;
    Transferred done;
    while (transfer_.outstanding() > 0 && transfer_.poll(done, true)) {
        count(done.token, done.bytes);
        if (done.error.kind != ErrorKind::none) note(done.error);
        moved = true;
    }
    if (transfer_.outstanding() == 0 && reading_ && !in_place_) end_batch();
    return progressed_if(moved);
}

void ListWork::end_batch() {
    const Timing timing(&context_.file.stats, &Stats::copy_time);
    for (const Piece& piece : batch_) {
        const auto there = static_cast<std::size_t>(piece.bytes);
        if (memory_.tell_size() != piece.data) memory_.seek_size(piece.data);
        scatter_bytes(memory_, access_.buffer,
                      staging_.subspan(static_cast<std::size_t>(piece.at), there));
        context_.file.stats.bytes_packed += there;
    }
    batch_.clear();
}

}  // namespace

std::unique_ptr<Work> make_list_work(const WorkContext& context, const Plan& plan,
                                     const Access& access, std::span<std::byte> staging) {
    return std::make_unique<ListWork>(context, plan, access, staging);
}

}  // namespace oratorio
