// SPDX-License-Identifier: BSD-3-Clause
#include "smpi_transport.hpp"

#include <smpi/mpi.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <simgrid/s4u.hpp>
#include <utility>

#include "exchange/messages/rounds.hpp"
#include "type/run_table.hpp"

namespace oratorio::replay {
namespace {

namespace sg4 = simgrid::s4u;

/// Returns the kind of a message from its tag, for messages that belong to a round and for those
/// that don't.
MessageKind kind_of(Tag tag) {
    const int kind = tag % 4;
    return static_cast<MessageKind>(kind == static_cast<int>(MessageKind::roundless) ? tag >> 4
                                                                                     : kind);
}

/// Returns the number of contiguous pieces that a message describes: in a write those of its data,
/// in a read those that it requests.
std::int64_t pieces_in(std::span<const std::byte> message, Tag tag) {
    if (kind_of(tag) != MessageKind::data) return 0;
    MessageHead head;
    std::memcpy(&head, message.data(), sizeof head);
    const auto table = message.subspan(sizeof head, static_cast<std::size_t>(head.table_bytes));
    std::int64_t pieces = 0;
    for (RunTableReader reader(table, {head.begin, INT64_MAX}); !reader.at_end();)
        pieces += reader.next().count;
    return pieces;
}

/// Returns the seconds that one end spends on a message, without the fixed cost per message.
/// `piece` is the cost of a piece at this end.
double seconds_of(std::span<const std::byte> message, Tag tag, const Endpoint& costs,
                  double piece) {
    return static_cast<double>(message.size()) * costs.byte +
           static_cast<double>(pieces_in(message, tag)) * piece;
}

MPI_Op op_of(ReduceOp op) {
    if (op == ReduceOp::sum) return MPI_SUM;
    return op == ReduceOp::max ? MPI_MAX : MPI_MIN;
}

Result<void> checked(int code) {
    if (code == MPI_SUCCESS) return {};
    return Error::make(ErrorKind::other, "SMPI refuses a call: error " + std::to_string(code));
}

}  // namespace

SmpiTransport::SmpiTransport(Topology topology, const Ends& ends, Seen& seen)
    : topology_(std::move(topology)), ends_(ends), seen_(seen) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
}

SmpiTransport::~SmpiTransport() {
    MPI_Comm_free(&comm_);
}

/// Returns the costs for a message with this tag. Messages between a rank and its local aggregator
/// belong to no round.
const Endpoint& SmpiTransport::costs_of(Tag tag) const {
    return tag % 4 == static_cast<int>(MessageKind::roundless) ? ends_.gather : ends_.exchange;
}

void SmpiTransport::note_begin() {
    if (!std::exchange(begun_, true))
        seen_.planned = std::max(seen_.planned, sg4::Engine::get_clock());
}

Ticket SmpiTransport::keep(const Slot& slot) {
    if (free_.empty()) {
        free_.push_back(slots_.size());
        slots_.emplace_back();
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    slots_[index] = slot;
    slots_[index].used = true;
    return Ticket{static_cast<std::int64_t>(index)};
}

Result<Ticket> SmpiTransport::send(Rank to, Tag tag, const SendMemory& data) {
    note_begin();
    if (data.in_pieces())
        return Error::make(ErrorKind::unsupported_operation, "messages in pieces aren't counted");
    const auto message = data.whole();
    const Endpoint& costs = costs_of(tag);
    sg4::this_actor::sleep_for(costs.send + seconds_of(message, tag, costs, costs.piece));
    seen_.waiting[static_cast<std::size_t>(to)] += 1;
    ++seen_.messages;
    seen_.bytes += std::ssize(message);
    Slot slot;
    const int code = MPI_Issend(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, tag,
                                comm_, &slot.request);
    if (auto started = checked(code); !started) return started.error();
    return keep(slot);
}

Result<Ticket> SmpiTransport::receive(Rank from, Tag tag, const ReceiveMemory& into) {
    note_begin();
    Slot slot;
    slot.into = into.whole();
    const int code = MPI_Irecv(slot.into.data(), static_cast<int>(slot.into.size()), MPI_BYTE,
                               from == kAnyRank ? MPI_ANY_SOURCE : from, tag, comm_, &slot.request);
    if (auto started = checked(code); !started) return started.error();
    return keep(slot);
}

Result<Ticket> SmpiTransport::reduce(std::span<std::uint64_t> values, ReduceOp op) {
    const int code = MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                                   MPI_UINT64_T, op_of(op), comm_);
    if (auto made = checked(code); !made) return made.error();
    return keep({.done = true});
}

/// Gathers at rank 0 and broadcasts the result. In SMPI's own Allgather every rank sends to every
/// other, which takes minutes from 256 ranks on.
Result<Ticket> SmpiTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    const int count = static_cast<int>(mine.size());
    const int code =
        MPI_Gather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, 0, comm_);
    if (auto made = checked(code); !made) return made.error();
    return broadcast(0, all);
}

Result<Ticket> SmpiTransport::broadcast(Rank root, std::span<std::byte> data) {
    const int code = MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_BYTE, root, comm_);
    if (auto made = checked(code); !made) return made.error();
    return keep({.done = true});
}

/// Sleeps for the cost of taking a received message: of searching for it among the waiting
/// messages, and of placing or merging its data.
void SmpiTransport::take(const Slot& slot, Bytes bytes) {
    const Endpoint& costs = costs_of(slot.status.MPI_TAG);
    const auto message = slot.into.first(static_cast<std::size_t>(bytes));
    double& waiting = seen_.waiting[static_cast<std::size_t>(topology_.rank)];
    const double looked = waiting * costs.look;
    waiting -= 1;
    sg4::this_actor::sleep_for(costs.receive + looked +
                               seconds_of(message, slot.status.MPI_TAG, costs, costs.place));
    seen_.taken = sg4::Engine::get_clock();
}

Result<Completion> SmpiTransport::test(Ticket ticket) {
    const auto index = static_cast<std::size_t>(ticket.id);
    Slot& slot = slots_[index];
    if (!slot.done) {
        int done = 0;
        const int code = MPI_Test(&slot.request, &done, &slot.status);
        if (auto tested = checked(code); !tested) return tested.error();
        slot.done = done != 0;
    }
    if (!slot.done) return Completion{};
    const Slot ended = std::exchange(slot, {});
    free_.push_back(index);
    if (ended.into.empty()) return Completion{.done = true};
    int bytes = 0;
    MPI_Get_count(&ended.status, MPI_BYTE, &bytes);
    take(ended, bytes);
    return Completion{.done = true, .source = ended.status.MPI_SOURCE, .bytes = bytes};
}

/// Waits until an operation ends. Returns at once if none is under way.
void SmpiTransport::idle(const WaitHint& /*rest*/) {
    std::vector<MPI_Request> requests;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i].used || slots_[i].done) continue;
        requests.push_back(slots_[i].request);
        indices.push_back(i);
    }
    if (requests.empty()) return;
    int first = MPI_UNDEFINED;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &first, &status);
    if (first == MPI_UNDEFINED) return;
    Slot& slot = slots_[indices[static_cast<std::size_t>(first)]];
    slot.request = MPI_REQUEST_NULL;
    slot.status = status;
    slot.done = true;
}

}  // namespace oratorio::replay
