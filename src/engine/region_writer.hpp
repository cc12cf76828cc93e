// SPDX-License-Identifier: BSD-3-Clause
// RegionWriter: stores the bytes of a region that the write mask marks, and leaves every other byte
// of the file alone. It writes a few pieces one by one. For many pieces it uses data sieving if it
// may fill holes: under an exclusive lock it reads the region, merges the pieces and writes it back
// (read-modify-write), so no write to the bytes in between is lost.
// See docs/internals/decisions/holes-and-locks.md.
//
// Storing a region is one job of the store, so that an I/O thread can perform it while the next
// round is exchanged: the pipelining of Tsujita et al., "Multithreaded Two-Phase I/O" (2014),
// section II-B.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/run_context.hpp"
#include "exchange/write_mask.hpp"
#include "plan/plan.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class RegionWriter final : public StoreJob {
  public:
    /// Returns the size of `scratch`, the buffer for the file's bytes while holes are filled. It is
    /// small enough to stay in a core's cache, or large where each call may ask a server.
    [[nodiscard]] static Bytes scratch_bytes(const FileKind& kind) {
        return kind.one_machine ? 64 << 10 : 1 << 20;
    }

    /// `plan` and `scratch` outlive the object. Several writers may share `scratch` if one thread
    /// performs all their jobs. For an atomic access, the writer takes no locks, because the run
    /// already holds one on the whole range.
    RegionWriter(const WorkContext& context, const Plan& plan, std::span<std::byte> scratch);

    struct Stored {
        Offset until = INT64_MAX;  ///< written bytes before this offset are stored
        Error error;
    };
    /// Sets what the next job stores, and the locks that it takes. `on_this_thread` is false if
    /// another thread will perform the job; then the job flushes its writes, and otherwise the
    /// caller does, by a series of its own.
    void prepare(const Region& region, const RoundBuffer& buffer, bool on_this_thread);
    /// Stores the region's written bytes. Waits for the storage and for locks, never for another
    /// rank of this access. REQUIRES: all ranks have entered the access (engine/entry_tracker.hpp).
    /// The performing thread holds no range lock, unless the access is atomic.
    void perform(Store& store) override;
    /// Adds the last job's counts to the file's statistics, and returns the job's outcome.
    /// REQUIRES: the job is done.
    Stored take_outcome();

  private:
    Stored write();
    /// A stretch of the file, and its offset in the round's buffer.
    struct Piece {
        Extent file;
        Bytes at = 0;
    };
    [[nodiscard]] std::vector<Piece> written_extents() const;
    [[nodiscard]] std::vector<Piece> written_pieces(const Piece& whole, Bytes& from,
                                                    std::size_t most) const;
    Stored write_cheaply(const Piece& whole);
    Stored write_by_pieces(const Piece& whole);
    Stored write_pieces(const std::vector<Piece>& pieces);
    [[nodiscard]] bool flushes(const RangeLock& held) const;
    Stored finish(std::optional<WriteSeries>& series, RangeLock& held, Extent range, Stored stored);
    Stored fill_and_write(const Piece& whole);
    Error fill(const Piece& whole);
    Stored move(const Piece& piece);
    Transferred transfer(Direction direction, Offset offset, std::span<std::byte> memory);

    WorkContext context_;
    const Plan& plan_;
    std::span<std::byte> scratch_;
    // The job: set by prepare(), and used by one thread at a time.
    Region region_;
    RoundBuffer buffer_;
    LockPolicy locks_;
    bool in_series_ = false;  ///< the caller flushes the writes
    Store* store_ = nullptr;
    Stats counted_;
    Stored stored_;
};

}  // namespace oratorio
