// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/mpi_transport.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/agreed.hpp"
#include "mpi/byte_type.hpp"
#include "mpi/discover.hpp"

namespace oratorio {
namespace {

using namespace std::chrono_literals;

template <class Byte>
auto begin_of(const MessageMemory<Byte>& memory) {
    return memory.in_pieces() ? static_cast<decltype(memory.whole().data())>(MPI_BOTTOM)
                              : memory.whole().data();
}

MPI_Op op_of(ReduceOp op) {
    switch (op) {
        case ReduceOp::max:
            return MPI_MAX;
        case ReduceOp::min:
            return MPI_MIN;
        case ReduceOp::sum:
            break;
    }
    return MPI_SUM;
}

/// Flips the top bit of each value. The order of the results as signed numbers is the order of the
/// values as unsigned ones.
void flip(std::span<std::uint64_t> values) {
    for (std::uint64_t& value : values) value ^= std::uint64_t{1} << 63;
}

bool fits_int(std::size_t count) {
    return count <= INT_MAX;
}

}  // namespace

namespace {

/// Returns a mask of the tag bits that the host supports, leaving one more tag for the alarm.
Tag tag_mask_of(MPI_Comm comm) {
    constexpr Tag kWanted = 1 << 24;
    int* largest = nullptr;
    int found = 0;
    const bool told = host().Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&largest),
                                           &found) == MPI_SUCCESS &&
                      found != 0;
    Tag tags = kWanted;
    while (tags > kTagsAtLeast && (!told || tags > *largest)) tags /= 2;
    return tags - 1;
}

}  // namespace

MpiTransport::MpiTransport(Comm comm, Topology topology, Chores chores, Bytes chunk)
    : comm_(std::move(comm)),
      topology_(std::move(topology)),
      chunk_(chunk),
      tag_mask_(tag_mask_of(comm_.get())),
      several_nodes_(!topology_.one_node()),
      counter_(topology_.rank),
      chores_(chores) {}

Result<std::unique_ptr<MpiTransport>> MpiTransport::open(MPI_Comm program,
                                                         const Agreed<int>& ranks_per_node) {
    auto topology = discover(program, ranks_per_node);
    if (!topology) return topology.error();
    auto comm = Comm::duplicate(program);
    if (!comm) return comm.error();
    return std::make_unique<MpiTransport>(std::move(*comm), std::move(*topology));
}

Result<Ticket> MpiTransport::send(Rank to, Tag tag, const SendMemory& data) {
    if (is_lost()) return lost_;
    auto bytes = ByteType::of(data, chunk_);
    if (!bytes) return losing(bytes.error());
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = host().Issend(begin_of(data), bytes->count(), bytes->type(), to,
                                   tag & tag_mask_, comm_.get(), &request);
    if (auto started = checked(code, "sending a message"); !started) return started.error();
    ++counters_.sends;
    counters_.bytes_sent += data.bytes();
    return keep(request, Kind::send);
}

Result<Ticket> MpiTransport::receive(Rank from, Tag tag, const ReceiveMemory& into) {
    if (is_lost()) return lost_;
    auto bytes = ByteType::of(into, chunk_);
    if (!bytes) return losing(bytes.error());
    tag &= tag_mask_;
    // Between nodes MPICH 5 over UCX loses messages that a receive from any source waits for, but
    // not those that a probe looks for.
    if (from == kAnyRank && several_nodes_) {
        ++counters_.receives;
        const Ticket ticket = keep(MPI_REQUEST_NULL, Kind::sought);
        slots_[static_cast<std::size_t>(ticket.id)].into = into.whole();
        slots_[static_cast<std::size_t>(ticket.id)].tag = tag;
        return ticket;
    }
    const int source = from == kAnyRank ? MPI_ANY_SOURCE : from;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = host().Irecv(begin_of(into), bytes->count(), bytes->type(), source, tag,
                                  comm_.get(), &request);
    if (auto started = checked(code, "receiving a message"); !started) return started.error();
    ++counters_.receives;
    return keep(request, Kind::receive);
}

/// Looks for a message from any rank. If there is one, starts to receive it in the slot.
Result<void> MpiTransport::seek(Slot& slot) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    int code =
        host().Improbe(MPI_ANY_SOURCE, slot.tag, comm_.get(), &found, &message, MPI_STATUS_IGNORE);
    if (auto looked = checked(code, "probing for a message"); !looked || !found) return looked;
    slot.kind = Kind::receive;
    auto bytes = ByteType::make(std::ssize(slot.into), chunk_);
    if (!bytes) return losing(bytes.error());
    code = host().Imrecv(slot.into.data(), bytes->count(), bytes->type(), &message, &slot.request);
    return checked(code, "receiving a message");
}

Result<Ticket> MpiTransport::reduce(std::span<std::uint64_t> values, ReduceOp op) {
    if (is_lost()) return lost_;
    if (!fits_int(values.size())) return Error::make(ErrorKind::count, "too many values to reduce");
    if (topology_.size == 1) return keep(MPI_REQUEST_NULL, Kind::alone);
    // MPICH 4 compares unsigned numbers as signed ones.
    const bool compares = op != ReduceOp::sum;
    const auto compared = values.first(compares ? values.size() : 0);
    flip(compared);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        host().Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                          compares ? MPI_INT64_T : MPI_UINT64_T, op_of(op), comm_.get(), &request);
    if (auto started = checked(code, "starting a reduction"); !started) return started.error();
    const Ticket ticket = keep(request, Kind::collective);
    slots_[static_cast<std::size_t>(ticket.id)].compared = compared;
    return ticket;
}

Result<Ticket> MpiTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    if (is_lost()) return lost_;
    if (!fits_int(mine.size())) return Error::make(ErrorKind::count, "too many bytes to gather");
    if (all.size() != mine.size() * static_cast<std::size_t>(comm_.size()))
        return Error::make(ErrorKind::internal, "gather into a buffer of the wrong length");
    if (topology_.size == 1) {
        std::ranges::copy(mine, all.begin());
        return keep(MPI_REQUEST_NULL, Kind::alone);
    }
    const int count = static_cast<int>(mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = host().Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE,
                                       comm_.get(), &request);
    if (auto started = checked(code, "starting a gather"); !started) return started.error();
    return keep(request, Kind::collective);
}

Result<Ticket> MpiTransport::broadcast(Rank root, std::span<std::byte> data) {
    if (is_lost()) return lost_;
    if (topology_.size == 1) return keep(MPI_REQUEST_NULL, Kind::alone);
    auto bytes = ByteType::make(std::ssize(data), chunk_);
    if (!bytes) return losing(bytes.error());
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        host().Ibcast(data.data(), bytes->count(), bytes->type(), root, comm_.get(), &request);
    if (auto started = checked(code, "starting a broadcast"); !started) return started.error();
    return keep(request, Kind::collective);
}

Result<Completion> MpiTransport::test(Ticket ticket) {
    if (is_lost()) return lost_;
    const auto slot = static_cast<std::size_t>(ticket.id);
    if (!ticket.valid() || slot >= slots_.size() || slots_[slot].kind == Kind::free)
        return Error::make(ErrorKind::internal, "test of a ticket without an operation");
    if (slots_[slot].kind == Kind::sought) {
        const auto looked = seek(slots_[slot]);
        if (!looked) release(slot);
        if (!looked) return looked.error();
        if (slots_[slot].kind == Kind::sought) return Completion{};
    }
    const Kind kind = slots_[slot].kind;
    // A single rank completes collectives without a call of the host, so any thread may test them.
    if (kind == Kind::alone) {
        release(slot);
        return Completion{.done = true};
    }
    MPI_Status status;
    int done = 0;
    const int code = host().Test(&slots_[slot].request, &done, &status);
    if (auto tested = checked(code, "completing a message"); !tested) {
        release(slot);
        return tested.error();
    }
    if (!done) return Completion{};
    flip(slots_[slot].compared);
    release(slot);
    idle_calls_ = 0;
    Completion completion{.done = true};
    if (kind == Kind::receive) {
        MPI_Count bytes = 0;
        host().Get_elements_x(&status, MPI_BYTE, &bytes);
        completion.source = status.MPI_SOURCE;
        completion.bytes = bytes;
        counters_.bytes_received += bytes;
    }
    return completion;
}

void MpiTransport::idle(const WaitHint& wait_hint) {
    if (wait_hint.doorbell != nullptr) {
        if (rings_before_sleep(*wait_hint.doorbell, wait_hint.heard)) return;
        if (!see_to_others()) sleep_until_rung(*wait_hint.doorbell, wait_hint.heard, 1ms);
        return;
    }
    // With more ranks than cores a rank that has work needs this core at once: yield first, since
    // the shortest sleep costs 50 us. A wait that takes longer is for storage, or for a rank that
    // is far behind.
    constexpr int kYields = 64;
    constexpr auto kLongest = 100us;
    if (idle_calls_ < kYields) {
        ++idle_calls_;
        sched_yield();
        return;
    }
    if (see_to_others()) return;
    const int step = std::min(idle_calls_ - kYields, 7);
    idle_calls_ = kYields + step + 1;
    std::this_thread::sleep_for(std::min<std::chrono::microseconds>(1us * (1 << step), kLongest));
}

/// Serves others while this rank waits. While the host looks for another rank's alarm, it also
/// sends acknowledgements that it couldn't send at once, and moves the program's own messages. The
/// chores advance operations of other files. Returns true if the chores progressed.
bool MpiTransport::see_to_others() {
    look_for_alarm();
    return chores_ != nullptr && chores_();
}

void MpiTransport::look_for_alarm() {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    const int code =
        host().Improbe(MPI_ANY_SOURCE, tag_mask_ + 1, comm_.get(), &found, &message, &status);
    if (code == MPI_SUCCESS && found != 0) hear(message, status.MPI_SOURCE);
}

Result<void> MpiTransport::checked(int code, std::string_view doing) {
    auto done = check(code, doing);
    return done ? done : Result<void>(losing(done.error()));
}

Error MpiTransport::losing(const Error& error) {
    lose(error);
    return error.on(topology_.rank);
}

/// Gives up after an operation of this rank has failed: the rank takes no part in what follows.
/// Sends an alarm to all other ranks, in messages that are small enough to arrive without the
/// receiver's help (eager). If that fails, nothing more can be done.
void MpiTransport::lose(const Error& error) {
    failed_ = true;
    if (is_lost()) return;
    lost_ = error.on(topology_.rank);
    alarm_ = key_of(error, topology_.rank);
    for (Rank to = 0; to < topology_.size; ++to) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (to == topology_.rank) continue;
        if (host().Isend(&alarm_, 1, MPI_UINT64_T, to, tag_mask_ + 1, comm_.get(), &request) ==
            MPI_SUCCESS)
            keep(request, Kind::send);
    }
    give_up();
}

/// Receives the alarm of another rank: that rank has failed.
void MpiTransport::hear(MPI_Message message, Rank from) {
    std::uint64_t key = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = host().Imrecv(&key, 1, MPI_UINT64_T, &message, &request);
    for (int done = 0; code == MPI_SUCCESS && done == 0;)
        code = host().Test(&request, &done, MPI_STATUS_IGNORE);
    failed_ = true;
    if (is_lost()) return;
    lost_ = Error::make(code == MPI_SUCCESS ? kind_of_key(key) : ErrorKind::other,
                        "another rank's messages fail")
                .on(from);
    give_up();
}

Ticket MpiTransport::keep(MPI_Request request, Kind kind) {
    if (kind == Kind::collective) ++counters_.collectives;
    if (free_.empty()) {
        free_.push_back(slots_.size());
        slots_.emplace_back();
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {.request = request, .kind = kind};
    return Ticket{static_cast<std::int64_t>(slot)};
}

void MpiTransport::release(std::size_t slot) {
    if (slots_[slot].kind == Kind::free) return;  // give_up() has freed it
    slots_[slot] = {};
    free_.push_back(slot);
}

MpiTransport::~MpiTransport() {
    if (mpi_finalized()) return;
    if (topology_.size > 1) look_for_alarm();
    if (free_.size() != slots_.size()) give_up();
    // After a failure the communicator is left to MPI: the host may give a freed communicator's
    // context to a new one, which would then receive messages that no rank has received yet.
    if (is_lost()) comm_.leave();
}

/// Ends the operations in flight, because their memory may be gone afterwards. Cancels receives,
/// and gives all operations some time to end.
void MpiTransport::give_up() {
    cancel_receives();
    const auto end = std::chrono::steady_clock::now() + 1s;
    while (!settle() && std::chrono::steady_clock::now() < end) sched_yield();
}

void MpiTransport::cancel_receives() {
    for (Slot& slot : slots_)
        if (slot.kind == Kind::receive) host().Cancel(&slot.request);
}

/// Releases the operations that are complete. Returns true when nothing is in flight any more.
bool MpiTransport::settle() {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].kind == Kind::free) continue;
        if (slots_[slot].kind == Kind::sought) {
            release(slot);
            continue;
        }
        int done = 0;
        const int code = host().Test(&slots_[slot].request, &done, MPI_STATUS_IGNORE);
        if (done || code != MPI_SUCCESS) release(slot);
    }
    return free_.size() == slots_.size();
}

}  // namespace oratorio
