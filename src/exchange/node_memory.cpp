#include "exchange/node_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace oratorio {

namespace {

constexpr Bytes kPage = 4096;
constexpr std::uint64_t kProbe = 0x6f7261746f72696fU;
const std::uint64_t probe_word = kProbe;

constexpr Bytes round_up(Bytes bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

std::int64_t ranks_beside(const Topology& topology, Rank rank) {
    const int node = topology.node_of[static_cast<std::size_t>(rank)];
    return std::count(topology.node_of.begin(), topology.node_of.end(), node);
}

Rank first_beside(const Topology& topology, Rank rank) {
    const int node = topology.node_of[static_cast<std::size_t>(rank)];
    return static_cast<Rank>(std::find(topology.node_of.begin(), topology.node_of.end(), node) -
                             topology.node_of.begin());
}

constexpr std::size_t kPerRank =
    sizeof(Desk) + NodeMemory::rounds_max * (sizeof(SlotControl) + sizeof(Question));

Bytes control_bytes(const Topology& topology) {
    return round_up(static_cast<Bytes>(sizeof(Shift)) +
                    ranks_beside(topology, topology.rank) * static_cast<Bytes>(kPerRank));
}

/// `count` objects at the front of `memory`, which is shortened by them.
template <class T>
T* carve(std::span<std::byte>& memory, std::int64_t count, bool make) {
    auto* const objects = reinterpret_cast<T*>(memory.data());
    for (std::int64_t i = 0; make && i < count; ++i) new (objects + i) T;
    memory = memory.subspan(static_cast<std::size_t>(count) * sizeof(T));
    return objects;
}

}  // namespace

Result<bool> NodeMemory::prepare(Transport& transport, Bytes bytes, bool cross_memory) {
    const Topology& topology = transport.topology();
    if (phase_ == Phase::idle) {
        if (capacity_ >= bytes && (cross_memory_ || !cross_memory)) return true;
        wanted_ = std::max(round_up(bytes), capacity_);
        cross_memory_wanted_ = cross_memory;
        error_ = {};
        create(topology);
        names_.resize(static_cast<std::size_t>(topology.size));
        const auto ticket = transport.gather(std::as_bytes(std::span(&name_, 1)),
                                             std::as_writable_bytes(std::span(names_)));
        if (!ticket) return ticket.error();
        ticket_ = *ticket;
        phase_ = Phase::naming;
        return false;
    }
    if (phase_ == Phase::naming) {
        const auto completion = transport.test(ticket_);
        if (!completion) return completion.error();
        if (!completion->done) return false;
        attach(topology);
        if (cross_memory_wanted_) probe_others(topology);
        agreement_ = Agreement(error_);
        phase_ = Phase::deciding;
    }
    const auto over = agreement_.step(transport);
    if (!over || !*over) return over;
    decide(transport.topology());
    return true;
}

/// The first rank of each node makes the memory.
void NodeMemory::create(const Topology& topology) {
    name_ = {{}, getpid(), reinterpret_cast<std::uintptr_t>(&probe_word)};
    if (first_beside(topology, topology.rank) != topology.rank) return;
    auto made = SharedMemory::create(control_bytes(topology) + wanted_);
    if (!made) {
        error_ = made.error();
        return;
    }
    next_ = std::move(*made);
    std::copy(next_.name().begin(), next_.name().end(), name_.text);
    auto memory = next_.span();
    const std::int64_t ranks = ranks_beside(topology, topology.rank);
    carve<Shift>(memory, 1, true);
    carve<Desk>(memory, ranks, true);
    carve<SlotControl>(memory, ranks * rounds_max, true);
    carve<Question>(memory, ranks * rounds_max, true);
}

void NodeMemory::attach(const Topology& topology) {
    const Rank first = first_beside(topology, topology.rank);
    const Name& maker = names_[static_cast<std::size_t>(first)];
    if (first == topology.rank || maker.text[0] == '\0') return;
    auto attached = SharedMemory::attach(maker.text, control_bytes(topology) + wanted_);
    if (attached) {
        next_ = std::move(*attached);
    } else {
        error_ = attached.error();
    }
}

/// Reads a word of each rank beside us, as the exchange would read its data.
void NodeMemory::probe_others(const Topology& topology) {
    for (Rank rank = 0; rank < topology.size; ++rank) {
        if (first_beside(topology, rank) != first_beside(topology, topology.rank)) continue;
        const Name& other = names_[static_cast<std::size_t>(rank)];
        std::uint64_t word = 0;
        const iovec here{&word, sizeof word};
        const iovec there{reinterpret_cast<void*>(other.probe), sizeof word};
        if (process_vm_readv(other.process, &here, 1, &there, 1, 0) == sizeof word &&
            word == kProbe)
            continue;
        if (error_.kind == ErrorKind::none) {
            error_ = Error::make(ErrorKind::unsupported_operation,
                                 "cross-memory attach: the kernel refuses it, see "
                                 "kernel.yama.ptrace_scope",
                                 errno);
        }
    }
}

void NodeMemory::decide(const Topology& topology) {
    phase_ = Phase::idle;
    next_.unlink();  // all have attached who could
    if (agreement_.error().kind != ErrorKind::none) {
        refusal_ = agreement_.error();
        (refusal_.kind == ErrorKind::unsupported_operation ? cross_memory_refused_
                                                           : shared_refused_) = true;
        next_ = {};
        return;
    }
    cross_memory_ = cross_memory_ || cross_memory_wanted_;
    memory_ = std::exchange(next_, {});
    capacity_ = wanted_;
    lay_out(topology);
}

void NodeMemory::lay_out(const Topology& topology) {
    const std::int64_t ranks = ranks_beside(topology, topology.rank);
    auto memory = memory_.span();
    shift_ = carve<Shift>(memory, 1, false);
    desks_ = carve<Desk>(memory, ranks, false);
    slots_ = carve<SlotControl>(memory, ranks * rounds_max, false);
    questions_ = carve<Question>(memory, ranks * rounds_max, false);
    buffers_ = memory_.span().subspan(static_cast<std::size_t>(control_bytes(topology)));
    processes_.clear();
    for (const Name& name : names_) processes_.push_back(name.process);
    std::vector<int> seen(topology.node_names.size());
    place_.clear();
    for (const int node : topology.node_of)
        place_.push_back(seen[static_cast<std::size_t>(node)]++);
}

void NodeMemory::tidy(Bytes kept_max) {
    if (capacity_ > kept_max) *this = {};
    shared_refused_ = cross_memory_refused_ = false;
}

Desk& NodeMemory::desk(Rank rank) const {
    return desks_[place_[static_cast<std::size_t>(rank)]];
}

SlotControl& NodeMemory::slot(int aggregator, std::int64_t round) const {
    return slots_[aggregator * rounds_max + round % rounds_max];
}

Question& NodeMemory::question(int aggregator, std::int64_t round) const {
    return questions_[aggregator * rounds_max + round % rounds_max];
}

}  // namespace oratorio
