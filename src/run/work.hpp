// SPDX-License-Identifier: BSD-3-Clause
// Work: what a run does between planning and agreement, on one rank. One kind per way to the
// storage.
#pragma once

#include <memory>
#include <span>

#include "exchange/exchange.hpp"
#include "run/run_context.hpp"
#include "run/stored_reports.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class RunMemory;

class Work {
  public:
    virtual ~Work() = default;
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    /// Moves on without waiting for other ranks; true when something moved. Work without other
    /// ranks may wait for the storage. An error is fatal: the transport failed.
    virtual Result<bool> step() = 0;
    [[nodiscard]] virtual bool done() const = 0;
    /// The first failure of this rank's storage; the work goes on all the same.
    [[nodiscard]] virtual const Error& noted() const = 0;
    /// This rank's bytes moved, as far as it can know alone: in an aggregated write, all of them.
    [[nodiscard]] virtual Bytes moved() const = 0;
    [[nodiscard]] virtual StoredReport report() const { return {}; }
    /// Some rank was seen to work by another plan than this one.
    [[nodiscard]] virtual bool differs() const { return false; }
    /// After a step that moved nothing: until when another won't, either.
    [[nodiscard]] virtual Rest waits_for() const { return {}; }
};

/// Where a rank works, and by what plan; everything outlives the work.
struct WorkSite {
    const RunContext& context;
    const Plan& plan;
    const Access& access;
    std::int64_t pieces = 0;  ///< about how many the rank has
    RunMemory& memory;
    bool maps = true;  ///< false: methods that map the file write pieces to the store instead
};

/// The one that the plan's method names; an error where its memory can't be had.
Result<std::unique_ptr<Work>> make_work(const WorkSite& site);

struct WorkBuffers {
    std::span<std::byte> collective;  ///< plan.buffer_bytes()
    std::span<std::byte> scratch;     ///< where holes are kept: RegionWriter::scratch_bytes
    std::span<std::byte> messages;
    std::span<std::byte> group;        ///< of local aggregators, for the data of their ranks
    const NodeMemory* node = nullptr;  ///< where `collective` lies, for methods on a node
};

/// Rounds through collective buffers: two-phase, and data sieving as the case of a single
/// participant. `own_store` may be null; it lives as long as the work.
std::unique_ptr<Work> make_buffered_work(const RunContext& context, const Plan& plan,
                                         const Access& access, WorkBuffers buffers,
                                         std::unique_ptr<Store> own_store);
/// Pieces straight between user memory (or a small staging buffer where memory is fine-grained) and
/// the store.
std::unique_ptr<Work> make_list_work(const RunContext& context, const Plan& plan,
                                     const Access& access, std::span<std::byte> staging);

/// An access of one piece, straight; `access.is_one_piece()`.
std::unique_ptr<Work> make_piece_work(const RunContext& context, const Plan& plan,
                                      const Access& access);

/// Pieces between user memory and a mapping of the file; `pieces` is about how many there are. The
/// file is as long as the access needs it; `failed`: why not.
std::unique_ptr<Work> make_mapped_work(const RunContext& context, const Plan& plan,
                                       const Access& access, std::int64_t pieces,
                                       const Error& failed);

/// Pieces by the context's agents; `memory` holds whole requests of theirs, at least one.
std::unique_ptr<Work> make_shipped_work(const RunContext& context, const Plan& plan,
                                        const Access& access, std::span<std::byte> memory);

}  // namespace oratorio
