// SPDX-License-Identifier: BSD-3-Clause
// The contracts of transport.hpp and discover.hpp, over a real MPI with any number of ranks.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/discover.hpp"
#include "mpi/message_bytes.hpp"
#include "mpi/mpi_transport.hpp"
#include "mpi/open_transport.hpp"

namespace oratorio::test {
namespace {

using Buffer = std::vector<std::byte>;

/// The transport under test treats messages of more than this many bytes as large.
constexpr Bytes kChunk = 1000;

std::unique_ptr<MpiTransport> open_messages() {
    auto opened = MpiTransport::open(MPI_COMM_WORLD);
    CHECK(opened.ok());
    return std::move(*opened);
}

MpiTransport chunked_transport(const Topology& topology) {
    return MpiTransport(std::move(*Comm::duplicate(MPI_COMM_WORLD)), topology, nullptr, kChunk);
}

bool same(const Buffer& one, const Buffer& other) {
    return one.size() == other.size() &&
           (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

/// Returns the length of a message, which sender and receiver both compute. Some messages are
/// empty, some exceed kChunk, and one has exactly that length.
std::size_t length_of(Rank from, Rank to, int number) {
    static constexpr std::size_t kLengths[] = {0, 1, 8, 999, 1000, 1001, 2000, 70000, 300001};
    return kLengths[static_cast<std::size_t>(from * 5 + to * 3 + number) % std::size(kLengths)];
}

/// Sends several messages from each rank to every rank. The receiver takes them in order from each
/// sender and tells them apart by tag.
void all_to_all_arrives(Transport& transport) {
    const Rank rank = transport.topology().rank;
    const int size = transport.topology().size;
    constexpr int kMessages = 5;
    constexpr Tag kTags[] = {0, 16383};
    std::vector<Buffer> sent, received;
    std::vector<Ticket> sends, receives;
    for (Rank peer = 0; peer < size; ++peer)
        for (int number = 0; number < kMessages; ++number) {
            received.emplace_back(length_of(peer, rank, number) + 10);
            receives.push_back(*transport.receive(peer, kTags[number % 2], received.back()));
        }
    for (Rank peer = 0; peer < size; ++peer)
        for (int number = 0; number < kMessages; ++number) {
            sent.push_back(message_bytes(rank, peer, number, length_of(rank, peer, number)));
            sends.push_back(*transport.send(peer, kTags[number % 2], sent.back()));
        }
    for (std::size_t i = 0; i < receives.size(); ++i) {
        const Rank peer = static_cast<Rank>(i) / kMessages;
        const int number = static_cast<int>(i) % kMessages;
        const auto done = wait(transport, receives[i]);
        CHECK(done.ok() && done->source == peer);
        CHECK(done.ok() && done->bytes == static_cast<Bytes>(length_of(peer, rank, number)));
        received[i].resize(length_of(peer, rank, number));
        CHECK(same(received[i], message_bytes(peer, rank, number, received[i].size())));
    }
    for (const Ticket& ticket : sends) CHECK(wait(transport, ticket).ok());
}

void any_rank_tells_its_source(Transport& transport) {
    const Topology& topology = transport.topology();
    const Rank mine = topology.rank;
    std::vector<Ticket> sends;
    for (Rank peer = 0; peer < topology.size; ++peer)
        sends.push_back(*transport.send(peer, 7, std::as_bytes(std::span(&mine, 1))));
    std::vector<int> seen(static_cast<std::size_t>(topology.size));
    for (Rank i = 0; i < topology.size; ++i) {
        Rank from = -1;
        const auto done =
            wait(transport,
                 *transport.receive(kAnyRank, 7, std::as_writable_bytes(std::span(&from, 1))));
        CHECK(done.ok() && done->source == from && done->bytes == sizeof from);
        if (from >= 0) ++seen[static_cast<std::size_t>(from)];
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    for (const Ticket& ticket : sends) CHECK(wait(transport, ticket).ok());
}

/// Checks that a send does not complete before its receiver takes the message, however small it is.
void send_waits_for_its_receiver(Transport& transport) {
    const Topology& topology = transport.topology();
    const Rank to = (topology.rank + 1) % topology.size;
    const Rank from = (topology.rank + topology.size - 1) % topology.size;
    std::byte out{1}, in{0};
    std::uint64_t nothing = 0;
    const Ticket send = *transport.send(to, 3, std::span(&out, 1));
    CHECK(reduce(transport, std::span(&nothing, 1), ReduceOp::sum).ok());
    for (int i = 0; i < 1000; ++i) CHECK(!transport.test(send)->done);
    CHECK(reduce(transport, std::span(&nothing, 1), ReduceOp::sum).ok());
    CHECK(wait(transport, *transport.receive(from, 3, std::span(&in, 1))).ok());
    CHECK(wait(transport, send).ok());
    CHECK(in == out);
}

void reductions_agree(Transport& transport) {
    const auto me = static_cast<std::uint64_t>(transport.topology().rank);
    const auto size = static_cast<std::uint64_t>(transport.topology().size);
    std::uint64_t values[] = {me, UINT64_MAX - me, 1};
    CHECK(reduce(transport, values, ReduceOp::max).ok());
    CHECK(values[0] == size - 1 && values[1] == UINT64_MAX && values[2] == 1);
    std::uint64_t small[] = {me + 5, UINT64_MAX - me};
    CHECK(reduce(transport, small, ReduceOp::min).ok());
    CHECK(small[0] == 5 && small[1] == UINT64_MAX - (size - 1));
    // Numbers of both halves of the range, which MPICH 4 compares wrongly.
    const bool last = me == size - 1;
    std::uint64_t largest[] = {last ? UINT64_MAX : me, last ? UINT64_MAX / 2 + 1 : UINT64_MAX / 2};
    CHECK(reduce(transport, largest, ReduceOp::max).ok());
    CHECK(largest[0] == UINT64_MAX && largest[1] == UINT64_MAX / 2 + 1);
    std::uint64_t smallest[] = {last ? 1 : UINT64_MAX};
    CHECK(reduce(transport, smallest, ReduceOp::min).ok());
    CHECK(smallest[0] == 1);
    std::uint64_t sums[] = {UINT64_MAX, me};  // the first is -1 modulo 2^64
    CHECK(reduce(transport, sums, ReduceOp::sum).ok());
    CHECK(sums[0] == std::uint64_t{0} - size && sums[1] == size * (size - 1) / 2);
    CHECK(reduce(transport, {}, ReduceOp::sum).ok());
}

void gather_is_in_rank_order(Transport& transport) {
    const Topology& topology = transport.topology();
    for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{12345}}) {
        const Buffer mine = message_bytes(topology.rank, 0, 0, block);
        Buffer all(block * static_cast<std::size_t>(topology.size));
        CHECK(gather(transport, mine, all).ok());
        for (Rank rank = 0; rank < topology.size; ++rank) {
            const Buffer expected = message_bytes(rank, 0, 0, block);
            CHECK(std::equal(expected.begin(), expected.end(),
                             all.begin() + rank * std::ssize(expected)));
        }
    }
    Buffer wrong(1);
    CHECK(!transport.gather(wrong, {}).ok());
}

void broadcast_reaches_all(Transport& transport) {
    for (Rank root = 0; root < transport.topology().size; ++root)
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5003}}) {
            const Buffer expected = message_bytes(root, 0, 1, size);
            Buffer data = transport.topology().rank == root ? expected : Buffer(size);
            CHECK(broadcast(transport, root, data).ok());
            CHECK(data == expected);
        }
}

/// Starts several reductions, and completes them in the reverse order.
void operations_overlap(Transport& transport) {
    const Topology& topology = transport.topology();
    std::vector<std::uint64_t> values(20, 1);
    std::vector<Ticket> tickets;
    for (std::uint64_t& value : values)
        tickets.push_back(*transport.reduce(std::span(&value, 1), ReduceOp::sum));
    for (auto ticket = tickets.rbegin(); ticket != tickets.rend(); ++ticket)
        CHECK(wait(transport, *ticket).ok());
    const auto size = static_cast<std::uint64_t>(topology.size);
    CHECK(std::all_of(values.begin(), values.end(),
                      [size](std::uint64_t value) { return value == size; }));
}

void counters_count_messages() {
    auto transport = open_messages();
    const Rank me = transport->topology().rank;
    Buffer out(100), in(200);
    std::uint64_t value = 0;
    const Ticket send = *transport->send(me, 1, out);
    CHECK(wait(*transport, *transport->receive(me, 1, in)).ok());
    CHECK(wait(*transport, send).ok());
    CHECK(reduce(*transport, std::span(&value, 1), ReduceOp::sum).ok());
    const MessageCounters& counters = transport->counters();
    // With a single rank a collective makes no call to the host, so that a thread may start one at
    // any level of thread support.
    const int collectives = transport->topology().size == 1 ? 0 : 1;
    CHECK(counters.sends == 1 && counters.receives == 1 && counters.collectives == collectives);
    CHECK(counters.bytes_sent == 100 && counters.bytes_received == 100);
}

/// Leaves a receive of the program pending on the communicator that the transport was opened on. No
/// message of the library may match the receive.
void the_program_hears_nothing() {
    int heard = 0, done = 0;
    MPI_Request request;
    MPI_Irecv(&heard, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    all_to_all_arrives(*open_messages());
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(!done);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int copies = 0;
int count_copy(MPI_Comm, int, void*, void* value, void* copy, int* flag) {
    ++copies;
    *static_cast<void**>(copy) = value;
    *flag = 1;
    return MPI_SUCCESS;
}
int keep_quiet(MPI_Comm, int, void*, void*) {
    return MPI_SUCCESS;
}

void attributes_of_the_program_stay_behind() {
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm program;
    MPI_Comm_dup(MPI_COMM_WORLD, &program);
    MPI_Comm_create_keyval(count_copy, keep_quiet, &keyval, nullptr);
    MPI_Comm_set_attr(program, keyval, &copies);
    CHECK(MpiTransport::open(program).ok());
    CHECK(copies == 0);
    MPI_Comm_free(&program);
    MPI_Comm_free_keyval(&keyval);
}

/// Destroys a transport while a receive, and on rank 0 a send, are still pending, as after a failed
/// access. Neither the destructor nor the job may hang.
void destruction_in_flight_ends(Rank rank) {
    std::byte in{}, out{};
    auto transport = open_messages();
    CHECK(transport->receive(kAnyRank, 1, std::span(&in, 1)).ok());
    if (rank == 0) CHECK(transport->send(0, 2, std::span(&out, 1)).ok());
    transport.reset();
    MPI_Barrier(MPI_COMM_WORLD);
}

void nodes_are_found() {
    const auto comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto real = discover(comm->get(), Agreed<int>::vouch(0));
    CHECK(real.ok() && real->rank == comm->rank() && real->size == comm->size());
    CHECK(std::ssize(real->node_of) == comm->size() && real->node_of[0] == 0);
    CHECK(real->node_names.size() == 1 &&
          !real->node_names.front().empty());  // mpiexec started the ranks on one host
    const auto pretended = discover(comm->get(), Agreed<int>::vouch(3));
    CHECK(pretended.ok() && std::ssize(pretended->node_names) == (comm->size() + 2) / 3);
    // Simulated nodes count as one node of their machine.
    CHECK(real->nodes_of_machine == 1 && pretended->nodes_of_machine == 1);
    for (Rank rank = 0; rank < comm->size(); ++rank)
        CHECK(pretended->node_of[static_cast<std::size_t>(rank)] == rank / 3);
    CHECK(pretended->node_names.back() ==
          real->node_names.front() + "-" + std::to_string(pretended->node_names.size() - 1));
}

/// Checks the switches of simulated nodes. Each node has one rank, and its name consists of the
/// machine's name and the rank.
void switches_are_found() {
    const auto comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto alone = Agreed<int>::vouch(1);
    const auto unknown = discover(comm->get(), alone, {});
    CHECK(unknown.ok() && unknown->switch_of.empty());
    const std::string name = unknown->node_names[0].substr(0, unknown->node_names[0].rfind('-'));
    const std::string others = "SwitchName=others Nodes=" + name + "-[1-9999]\n";
    const std::string first = "SwitchName=first Nodes=" + name + "-0\n";
    const auto found = discover(comm->get(), alone, {"", others + first});
    CHECK(found.ok() && found->switches() == std::min(comm->size(), 2));
    for (Rank rank = 0; rank < comm->size(); ++rank)
        CHECK(found->switch_at(rank) == (rank == 0 ? 0 : 1));
    const auto partly = discover(comm->get(), alone, {"", others});
    CHECK(partly.ok() && partly->switch_of.empty());
    // Each process has its own address. The switches above the node tell them apart.
    const std::string mine = comm->rank() % 2 == 0 ? "s0.s1.n" : "s0.s2.n";
    const auto addressed = discover(comm->get(), alone, {mine + std::to_string(comm->rank()), ""});
    CHECK(addressed.ok() && addressed->switch_at(comm->rank()) == comm->rank() % 2);
}

void the_counter_gives_each_rank_numbers_of_its_own(Transport& transport) {
    constexpr std::size_t kTimes = 1000;
    const auto size = static_cast<std::size_t>(transport.topology().size);
    std::vector<std::int64_t> mine(kTimes, -1), all(kTimes * size);
    for (std::int64_t& number : mine) {
        const auto before = transport.counter().fetch_add(5);
        if (before) number = *before;
    }
    CHECK(gather(transport, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)))
              .ok());
    CHECK(std::is_sorted(mine.begin(), mine.end()));
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == 5 * static_cast<std::int64_t>(i));

    constexpr std::int64_t kFar = INT64_C(1) << 40;
    std::uint64_t met = 0;
    if (transport.topology().rank == transport.topology().size - 1)
        CHECK(transport.counter().set(kFar).ok());
    CHECK(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
    const auto now = transport.counter().fetch_add(0);
    CHECK(now.ok() && *now == kFar);
    CHECK(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
}

/// Opens a transport with a counter: in shared memory if there is one node, served by rank 0 if
/// there are several; a single rank counts for itself.
void counters_that_fit_the_nodes_count(int ranks_per_node) {
    CounterService counters;
    auto opened = open_transport(MPI_COMM_WORLD, counters, Agreed<int>::vouch(ranks_per_node));
    CHECK(opened.ok());
    the_counter_gives_each_rank_numbers_of_its_own(*opened->transport);
}

/// Lets the other ranks add to the counter while rank 0 makes no call to MPI and only reads the
/// counter.
void others_count_while_rank_0_does_not_call_mpi(Transport& transport) {
    constexpr std::int64_t kTimes = 100;
    const Topology& topology = transport.topology();
    std::uint64_t met = 0;
    if (topology.rank == 0) {
        while (*transport.counter().fetch_add(0) < kTimes * (topology.size - 1))
            std::this_thread::yield();
        CHECK(transport.counter().set(0).ok());
    } else {
        for (std::int64_t i = 0; i < kTimes; ++i) CHECK(transport.counter().fetch_add(1).ok());
    }
    CHECK(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
}

/// Increments a counter that rank 0 serves. Rank 0 then destroys its transport before the others
/// do.
void a_served_counter_counts() {
    CounterService counters;
    auto transport = open_messages();
    transport->share_counter(counters);
    others_count_while_rank_0_does_not_call_mpi(*transport);
    the_counter_gives_each_rank_numbers_of_its_own(*transport);
    CHECK(transport->quiet());
    if (transport->topology().rank == 0) transport.reset();
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Makes the ranks reserve collectively without a shared counter: only rank 0 holds the number.
void without_a_shared_counter_ranks_still_claim_together(MpiTransport& transport) {
    const Rank rank = transport.topology().rank;
    const std::int64_t before_me = rank * (rank - 1) / 2;
    if (rank == 0) CHECK(transport.counter().set(100).ok());
    CHECK(transport.counter().fetch_add(0).ok() == (rank == 0));
    CHECK(transport.counter().set(100).ok() == (rank == 0));
    const auto first = reserve(transport, rank);
    CHECK(first.ok() && *first == 100 + before_me);
}

/// Takes the descriptors for sockets from rank 0 only. The counter is then not served, and rank 0
/// keeps the number.
void where_rank_0_cannot_serve_it_it_keeps_the_number() {
    CounterService counters;
    auto transport = open_messages();
    const Rank rank = transport->topology().rank;
    // The barrier connects the ranks first, because hosts may need sockets when ranks first reach
    // each other.
    MPI_Barrier(transport->comm());
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    if (rank == 0) setrlimit(RLIMIT_NOFILE, &none);
    transport->share_counter(counters);
    if (rank == 0) setrlimit(RLIMIT_NOFILE, &before);
    without_a_shared_counter_ranks_still_claim_together(*transport);
    const auto used = transport->counter().fetch_add(0);
    CHECK(used.ok() == (rank == 0));
    CHECK(used || used.error().kind == ErrorKind::unsupported_operation);
    CHECK(transport->quiet());
}

void wrong_communicators_are_errors() {
    const auto opened = MpiTransport::open(MPI_COMM_NULL);
    CHECK(!opened && opened.error().kind == ErrorKind::communicator);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio;
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    // MPICH raises the error of a completed message on MPI_COMM_WORLD or SELF, whatever its
    // communicator.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    nodes_are_found();
    switches_are_found();
    wrong_communicators_are_errors();
    {
        auto transport = open_messages();
        MpiTransport chunked = chunked_transport(transport->topology());
        for (Transport* each :
             {static_cast<Transport*>(transport.get()), static_cast<Transport*>(&chunked)}) {
            all_to_all_arrives(*each);
            any_rank_tells_its_source(*each);
            send_waits_for_its_receiver(*each);
            reductions_agree(*each);
            gather_is_in_rank_order(*each);
            broadcast_reaches_all(*each);
            operations_overlap(*each);
        }
        without_a_shared_counter_ranks_still_claim_together(*transport);
        destruction_in_flight_ends(transport->topology().rank);
    }
    counters_count_messages();
    the_program_hears_nothing();
    attributes_of_the_program_stay_behind();
    for (const int ranks_per_node : {0, 2}) counters_that_fit_the_nodes_count(ranks_per_node);
    a_served_counter_counts();
    where_rank_0_cannot_serve_it_it_keeps_the_number();
    const int code = verdict("transport");
    MPI_Finalize();
    return code;
}
