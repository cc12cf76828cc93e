// SPDX-License-Identifier: BSD-3-Clause
// Messages from and to memory in pieces, over a real MPI with any number of ranks.
#include <vector>

#include "mpi/check.hpp"
#include "mpi/message_bytes.hpp"
#include "mpi/mpi_transport.hpp"
#include "support/message_pieces.hpp"

namespace oratorio::test {
namespace {

using Buffer = std::vector<std::byte>;

/// Sends every third byte of a buffer from each rank to every other, and receives into every second
/// byte. A message is shorter than its receive, and empty from rank 0. The lists of pieces are
/// freed before any data has moved.
void pieces_arrive_in_pieces(Transport& transport) {
    const Topology& topology = transport.topology();
    constexpr std::size_t kPieces = 5000, kMore = 7;
    std::vector<Buffer> sent, received;
    std::vector<Ticket> sends, receives;
    for (Rank peer = 0; peer < topology.size; ++peer) {
        received.emplace_back(2 * (kPieces + kMore));
        Pieces<std::byte> into;
        for (std::size_t i = 0; i < kPieces + kMore; ++i)
            into.emplace_back(&received.back()[2 * i], 1);
        receives.push_back(*transport.receive(peer, 9, ListOf(into).list()));
    }
    for (Rank peer = 0; peer < topology.size; ++peer) {
        sent.push_back(message_bytes(topology.rank, peer, 0, 3 * kPieces));
        Pieces<const std::byte> from;
        for (std::size_t i = 0; i < kPieces && topology.rank > 0; ++i)
            from.emplace_back(&sent.back()[3 * i], 1);
        sends.push_back(*transport.send(peer, 9, ListOf(from).list()));
    }
    for (Rank peer = 0; peer < topology.size; ++peer) {
        const auto done = wait(transport, receives[static_cast<std::size_t>(peer)]);
        const std::size_t came = peer > 0 ? kPieces : 0;
        CHECK(done.ok() && done->source == peer && done->bytes == static_cast<Bytes>(came));
        const Buffer all = message_bytes(peer, topology.rank, 0, 3 * kPieces);
        Buffer expected(2 * (kPieces + kMore));
        for (std::size_t i = 0; i < came; ++i) expected[2 * i] = all[3 * i];
        CHECK(received[static_cast<std::size_t>(peer)] == expected);
    }
    for (const Ticket& ticket : sends) CHECK(wait(transport, ticket).ok());
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio;
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    for (const int ranks_per_node : {0, 2}) {
        const auto opened = MpiTransport::open(MPI_COMM_WORLD, Agreed<int>::vouch(ranks_per_node));
        CHECK(opened.ok());
        if (opened.ok()) pieces_arrive_in_pieces(**opened);
    }
    const int code = verdict("transport_pieces");
    MPI_Finalize();
    return code;
}
