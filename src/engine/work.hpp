// SPDX-License-Identifier: BSD-3-Clause
// Work: what a run does on one rank between planning and agreement. There is one kind for each way
// to the storage: two-phase and data sieving, list I/O, a single piece, mappings, data shipping.
#pragma once

#include <memory>
#include <span>

#include "base/step.hpp"
#include "engine/run_context.hpp"
#include "engine/stored_reports.hpp"
#include "exchange/exchange.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class RunMemory;

class Work {
  public:
    virtual ~Work() = default;
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    /// Makes progress without waiting for other ranks, but perhaps for the storage or for a lock;
    /// returns Step::progressed if anything moved. An error is fatal: the transport failed.
    virtual Result<Step> step() = 0;
    [[nodiscard]] virtual bool done() const = 0;
    /// Returns the first failure of this rank to move or store data. The rank still serves other
    /// ranks after it.
    [[nodiscard]] virtual const Error& noted() const = 0;
    /// Returns how many of this rank's bytes were moved. An aggregated write returns all of them:
    /// only the aggregators know how many were stored.
    [[nodiscard]] virtual Bytes moved() const = 0;
    [[nodiscard]] virtual StoredReport report() const { return {}; }
    /// Returns true if this rank has noticed that some rank's data isn't as planned.
    [[nodiscard]] virtual bool differs() const { return false; }
    /// Returns what to wait for before the next step. REQUIRES: the last step moved nothing.
    [[nodiscard]] virtual WaitHint waits_for() const { return {}; }
};

/// The inputs of make_work(); everything referenced outlives the work.
struct WorkSite {
    const WorkContext& context;
    const Plan& plan;
    const Access& access;
    RunMemory& memory;
    bool maps = true;  ///< false: methods that map the file use list I/O instead
};

/// Makes the work that the plan's method names; returns an error if its memory isn't available.
Result<std::unique_ptr<Work>> make_work(const WorkSite& site);

struct WorkBuffers {
    std::span<std::byte> collective;  ///< the collective buffer: plan.buffer_bytes()
    std::span<std::byte> scratch;     ///< the buffer for filling holes
    std::span<std::byte> messages;
    std::span<std::byte> group;        ///< a local aggregator's memory for its group's data
    const NodeMemory* node = nullptr;  ///< memory that holds `collective`, for methods on a node
};

/// Makes the work through collective buffers: two-phase, and data sieving as the case of a single
/// participant. `own_store`, unless null, replaces the context's store; the work owns it.
std::unique_ptr<Work> make_two_phase_work(const WorkContext& context, const Plan& plan,
                                          const Access& access, WorkBuffers buffers,
                                          std::unique_ptr<Store> own_store);
/// Makes the work of list I/O: pieces move directly between user memory and the store, or through
/// `staging`, a small bounce buffer, if the pieces in user memory are short.
std::unique_ptr<Work> make_list_work(const WorkContext& context, const Plan& plan,
                                     const Access& access, std::span<std::byte> staging);

/// Makes the direct transfer of an access with one piece. REQUIRES: access.is_one_piece().
std::unique_ptr<Work> make_piece_work(const WorkContext& context, const Plan& plan,
                                      const Access& access);

/// Makes the copy between user memory and a mapping of the file. `failed` is the error if the file
/// could not be extended. REQUIRES: for a write, the file is as long as the access needs, or
/// `failed` is set.
std::unique_ptr<Work> make_mapped_work(const WorkContext& context, const Plan& plan,
                                       const Access& access, const Error& failed);

/// Makes the work of data shipping: the context's agents move the pieces. `memory` holds at least
/// one whole request.
std::unique_ptr<Work> make_shipped_work(const WorkContext& context, const Plan& plan,
                                        const Access& access, std::span<std::byte> memory);

}  // namespace oratorio
