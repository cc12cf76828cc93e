// SPDX-License-Identifier: BSD-3-Clause
// Operations of MpiTransport that fail, on one rank or on all. Over a real MPI no rank waits for a
// rank that has given up.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/mpi_transport.hpp"

namespace oratorio::test {
namespace {

using Buffer = std::vector<std::byte>;

std::unique_ptr<MpiTransport> open_messages() {
    auto opened = MpiTransport::open(MPI_COMM_WORLD);
    CHECK(opened.ok());
    return std::move(*opened);
}

void misuse_is_an_error(Transport& transport) {
    CHECK(!transport.test(Ticket{}).ok());
    CHECK(!transport.test(Ticket{123456}).ok());
    std::byte byte{};
    CHECK(!transport.send(transport.topology().size, 0, std::span(&byte, 1)).ok());
    CHECK(!transport.receive(transport.topology().size, 0, std::span(&byte, 1)).ok());
}

void too_long_a_message_is_an_error(Transport& transport) {
    const Rank me = transport.topology().rank;
    Buffer out(100), in(10);
    const Ticket send = *transport.send(me, 1, out);
    CHECK(!wait(transport, *transport.receive(me, 1, in)).ok());
    (void)wait(transport, send);
}

/// Lets the host refuse all receives on rank 0, as if it could no longer access the memory of other
/// processes.
void where_messages_of_one_rank_fail_all_ranks_hear_of_it() {
    auto transport = open_messages();
    const Topology& topology = transport->topology();
    if (topology.size == 1) return;
    static const auto receive = host().Irecv;
    if (topology.rank == 0)
        const_cast<Host&>(host()).Irecv = [](void*, int, MPI_Datatype, int, int, MPI_Comm,
                                             MPI_Request*) -> int { return MPI_ERR_NO_MEM; };
    std::byte byte{};
    const Rank beside = topology.rank == 0 ? 1 : 0;
    // Rank 0 waits for a message of rank 1 that its host refuses to receive. The other ranks wait
    // until rank 0 takes theirs.
    const auto waits = topology.rank == 0 ? transport->receive(beside, 5, std::span(&byte, 1))
                                          : transport->send(beside, 5, std::span(&byte, 1));
    const auto ended = waits ? wait(*transport, *waits) : waits.error();
    CHECK(!ended && ended.error().kind == ErrorKind::no_memory && ended.error().rank == 0);
    CHECK(transport->lost().kind == ErrorKind::no_memory && !transport->quiet());
    std::uint64_t value = 0;
    CHECK(!reduce(*transport, std::span(&value, 1), ReduceOp::sum).ok());
    const_cast<Host&>(host()).Irecv = receive;
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Lets the host refuse all datatypes on rank 0, which then can't enter a broadcast that needs one.
void where_one_rank_cannot_enter_a_broadcast_all_ranks_hear_of_it() {
    constexpr Bytes kChunk = 1000;  // longer messages need a datatype
    const Topology topology = open_messages()->topology();
    if (topology.size == 1) return;
    MpiTransport transport(std::move(*Comm::duplicate(MPI_COMM_WORLD)), topology, nullptr, kChunk);
    static const auto make = host().Type_contiguous;
    if (topology.rank == 0)
        const_cast<Host&>(host()).Type_contiguous = [](int, MPI_Datatype, MPI_Datatype*) -> int {
            return MPI_ERR_NO_MEM;
        };
    Buffer data(1 << 20);
    const auto broadcast = transport.broadcast(1, data);
    const auto ended = broadcast ? wait(transport, *broadcast) : broadcast.error();
    // A rank may have its data before it hears of the failure; the next operation reports it then.
    std::uint64_t value = 0;
    const Error error =
        ended ? reduce(transport, std::span(&value, 1), ReduceOp::sum).error() : ended.error();
    CHECK(error.kind == ErrorKind::no_memory && error.rank == 0);
    const_cast<Host&>(host()).Type_contiguous = make;
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    // MPICH raises the error of a completed message on MPI_COMM_WORLD or SELF, whatever its
    // communicator.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    misuse_is_an_error(*open_messages());
    MPI_Barrier(MPI_COMM_WORLD);
    too_long_a_message_is_an_error(*open_messages());
    MPI_Barrier(MPI_COMM_WORLD);
    where_messages_of_one_rank_fail_all_ranks_hear_of_it();
    where_one_rank_cannot_enter_a_broadcast_all_ranks_hear_of_it();
    const int code = verdict("transport_lost");
    MPI_Finalize();
    return code;
}
