// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/node_shared/node_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace oratorio {

namespace {

constexpr std::uint64_t kProbe = 0x6f7261746f72696fU;

/// The words that other ranks of the node read and write to try cross-memory attach.
struct Probe {
    std::uint64_t read = kProbe;
    std::uint64_t written = kProbe;  ///< all ranks write the same value
};
Probe probe_here;

constexpr Bytes round_up(Bytes bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

constexpr std::size_t kPerRank =
    sizeof(RankMailbox) + NodeMemory::rounds_max * (sizeof(SlotControl) + sizeof(ContentsQuery));

Bytes control_bytes(const Topology& topology) {
    return round_up(static_cast<Bytes>(sizeof(Awake)) +
                    ranks_beside(topology, topology.rank) * static_cast<Bytes>(kPerRank));
}

/// Returns `count` objects at the front of `memory`, and removes them from it.
template <class T>
T* carve(std::span<std::byte>& memory, std::int64_t count) {
    auto* const objects = reinterpret_cast<T*>(memory.data());
    memory = memory.subspan(static_cast<std::size_t>(count) * sizeof(T));
    return objects;
}

/// Constructs `count` objects at the front of `memory`, and removes them from it.
template <class T, class... Arguments>
void make(std::span<std::byte>& memory, std::int64_t count, Arguments... arguments) {
    T* const objects = carve<T>(memory, count);
    for (std::int64_t i = 0; i < count; ++i) new (objects + i) T(arguments...);
}

/// Constructs the control words, on the node's first rank, in the memory that all ranks will map.
void make_controls(std::span<std::byte> memory, const Topology& topology) {
    const std::int64_t ranks = ranks_beside(topology, topology.rank);
    make<Awake>(memory, 1);
    make<RankMailbox>(memory, ranks, usual_wait_policy(topology));
    make<SlotControl>(memory, ranks * NodeMemory::rounds_max);
    make<ContentsQuery>(memory, ranks * NodeMemory::rounds_max);
}

/// Returns true if this rank can read and write words of another rank with the system calls by
/// which the exchange accesses that rank's data.
bool can_reach(pid_t process, Probe* probe) {
    std::uint64_t word = 0;
    const iovec here{&word, sizeof word};
    iovec there{&probe->read, sizeof word};
    if (process_vm_readv(process, &here, 1, &there, 1, 0) != sizeof word || word != kProbe)
        return false;
    there.iov_base = &probe->written;
    return process_vm_writev(process, &here, 1, &there, 1, 0) == sizeof word;
}

Error probe_others(const std::vector<SharedSegment::Card>& cards) {
    for (const auto& [process, probe] : cards) {
        if (can_reach(static_cast<pid_t>(process), reinterpret_cast<Probe*>(probe))) continue;
        return Error::make(ErrorKind::unsupported_operation,
                           "cross-memory attach: another rank's memory can't be reached; "
                           "check kernel.yama.ptrace_scope, seccomp and PID namespaces",
                           errno);
    }
    return {};
}

}  // namespace

/// Vouches for an agreed value: refusals and buffers are the same on all ranks.
Agreed<NodeSharing> NodeMemory::sharing() const {
    NodeSharing sharing;
    sharing.shared_memory = !shared_refused_;
    sharing.shared_ready = sharing.shared_memory && !buffers_.empty();
    sharing.cross_memory = sharing.shared_memory && !cross_memory_refused_;
    return Agreed<NodeSharing>::vouch(sharing);
}

Result<Step> NodeMemory::prepare(Transport& transport, Bytes bytes, bool cross_memory) {
    const Topology& topology = transport.topology();
    if (!making_) {
        if (capacity_ >= bytes && (cross_memory_ || !cross_memory)) return Step::done;
        wanted_ = std::max(round_up(bytes), capacity_);
        cross_memory_wanted_ = cross_memory;
        making_ = std::make_unique<SharedSegment>(options(topology));
    }
    const auto decided = making_->step(transport);
    if (!decided || *decided != Step::done) return decided;
    decide(topology);
    making_.reset();
    return Step::done;
}

SharedSegment::Options NodeMemory::options(const Topology& topology) const {
    SharedSegment::Options options;
    options.bytes = control_bytes(topology) + wanted_;
    options.card = {static_cast<std::uint64_t>(getpid()),
                    reinterpret_cast<std::uintptr_t>(&probe_here)};
    options.prepare = [&topology](std::span<std::byte> memory) { make_controls(memory, topology); };
    if (cross_memory_wanted_) options.check = probe_others;
    return options;
}

void NodeMemory::decide(const Topology& topology) {
    if (making_->refused()) {
        refusal_ = making_->refusal();
        shared_refused_ = true;
        return;
    }
    if (cross_memory_wanted_) {
        refusal_ = making_->check_refusal();
        cross_memory_refused_ = refusal_.kind != ErrorKind::none;
        cross_memory_ = !cross_memory_refused_;
    }
    memory_ = making_->take();
    capacity_ = wanted_;
    lay_out(topology);
}

void NodeMemory::lay_out(const Topology& topology) {
    const std::int64_t ranks = ranks_beside(topology, topology.rank);
    auto memory = memory_.span();
    awake_ = carve<Awake>(memory, 1);
    mailboxes_ = carve<RankMailbox>(memory, ranks);
    slots_ = carve<SlotControl>(memory, ranks * rounds_max);
    queries_ = carve<ContentsQuery>(memory, ranks * rounds_max);
    buffers_ = memory_.span().subspan(static_cast<std::size_t>(control_bytes(topology)));
    rank_map_ = topology.node_of;
    processes_.clear();
    for (const auto& [process, probe] : making_->cards())
        processes_.push_back(static_cast<int>(process));
}

void NodeMemory::tidy(Bytes kept_max) {
    if (capacity_ > kept_max) *this = {};
    shared_refused_ = cross_memory_refused_ = false;
    refusal_ = {};
}

RankMailbox& NodeMemory::mailbox(Rank rank) const {
    return mailboxes_[place(rank)];
}

SlotControl& NodeMemory::slot(int aggregator, std::int64_t round) const {
    return slots_[aggregator * rounds_max + round % rounds_max];
}

ContentsQuery& NodeMemory::query(int aggregator, std::int64_t round) const {
    return queries_[aggregator * rounds_max + round % rounds_max];
}

}  // namespace oratorio
