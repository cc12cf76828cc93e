// SPDX-License-Identifier: BSD-3-Clause
#include "engine/work.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/complete_table.hpp"
#include "engine/run_memory.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

using Made = Result<std::unique_ptr<Work>>;

Made make_buffered(const WorkSite& site) {
    const FileContext& file = site.context.file;
    const Plan& plan = site.plan;
    if (!plan.method->aggregated() && !site.memory.take_for_alone(plan)) {
        return Error::make(ErrorKind::no_memory,
                           plan.direction == Direction::read
                               ? "no memory for the sieving buffer: lower ind_rd_buffer_size"
                               : "no memory for the sieving buffer: lower ind_wr_buffer_size");
    }
    std::unique_ptr<Store> threaded;
    const int aggregator = plan.aggregator_index(file.transport.topology().rank);
    if (plan.overlap == Overlap::io_thread && aggregator >= 0 &&
        !site.context.store.limits().performs_jobs)
        threaded = make_threaded(site.context.store, file.io_thread, plan.slots);
    WorkBuffers buffers{site.memory.collective(), site.memory.scratch(), site.memory.messages(),
                        site.memory.group(), &file.node};
    if (plan.method->on_node()) {
        const auto bytes = static_cast<std::size_t>(plan.buffer_bytes());
        const auto index = static_cast<std::size_t>(std::max(0, aggregator));
        buffers.collective = file.node.buffers().subspan(index * bytes, bytes);
    }
    return make_two_phase_work(site.context, plan, site.access, buffers, std::move(threaded));
}

Made make_list(const WorkSite& site) {
    if (site.access.is_one_piece() && site.plan.own_calls().ahead.ranges == 0)
        return make_piece_work(site.context, site.plan, site.access);
    constexpr Bytes kLeast = 4096;
    const Bytes staging = std::min(kStagingBytes, std::max(kLeast, site.access.bytes()));
    if (!site.memory.take_for_staging(staging))
        return Error::make(ErrorKind::no_memory, "no memory for the bounce buffer of list I/O");
    return make_list_work(site.context, site.plan, site.access, site.memory.collective());
}

/// Extends the file to its final length if this rank writes alone: extending it window by window
/// would take far longer. Ranks that write together have already done so (engine/pre_extend).
Error extended(const WorkSite& site) {
    const bool alone = !site.plan.collective || site.context.file.transport.topology().size == 1;
    if (!alone || site.plan.direction == Direction::read) return {};
    const Offset end = site.plan.hull.end;
    const auto last = site.context.store.map({end - 1, end}, Direction::write, Populate::no);
    return last ? Error{} : last.error();
}

/// Makes the copy between user memory and mappings, or list I/O on a file system that can't extend
/// a file without the risk of truncating another writer's data.
Made make_mapped(const WorkSite& site) {
    const Error failed = extended(site);
    if (!site.maps || failed.kind == ErrorKind::unsupported_operation) return make_list(site);
    return make_mapped_work(site.context, site.plan, site.access, failed);
}

/// Makes the work of data shipping, with memory for a few requests: they keep the agents busy while
/// the next request is packed.
Made make_shipped(const WorkSite& site) {
    constexpr int kLeast = 2;
    constexpr int kMost = 8;
    if (site.context.file.agents == nullptr)
        return Error::make(ErrorKind::internal, "the access needs agents, and there are none");
    Agents& agents = *site.context.file.agents;
    if (const auto own = agents.own_memory(); !own.empty())
        return make_shipped_work(site.context, site.plan, site.access, own);
    const Bytes each = agents.shipment_max();
    const Bytes wanted = std::clamp(agents.binding().agents, kLeast, kMost) * each;
    if (!site.memory.take_for_staging(wanted) && !site.memory.take_for_staging(each))
        return Error::make(ErrorKind::no_memory, "no memory for requests to agents");
    return make_shipped_work(site.context, site.plan, site.access, site.memory.collective());
}

struct Maker {
    StorageKind kind;
    Made (*make)(const WorkSite& site);
};
constexpr std::array kMakers{
    Maker{StorageKind::contiguous, make_list},   Maker{StorageKind::list, make_list},
    Maker{StorageKind::buffered, make_buffered}, Maker{StorageKind::mapped, make_mapped},
    Maker{StorageKind::shipped, make_shipped},
};
static_assert(is_complete(kMakers));

}  // namespace

Result<std::unique_ptr<Work>> make_work(const WorkSite& site) {
    return row_of(kMakers, site.plan.method->storage).make(site);
}

}  // namespace oratorio
