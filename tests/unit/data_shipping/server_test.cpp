// SPDX-License-Identifier: BSD-3-Clause
// Agents as threads that are reached by TCP, from ranks and from clients that are not ranks. The
// program replaces std::chrono::steady_clock::now.
#include "data_shipping/server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "data_shipping/remote_agents.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"
#include "unit/data_shipping/agent_pieces.hpp"
#include "unit/net/counter_support.hpp"

namespace {

/// Nanoseconds by which the clock of this process is ahead.
std::atomic<std::int64_t> ahead{0};

}  // namespace

extern "C" {
std::chrono::steady_clock::time_point __real__ZNSt6chrono3_V212steady_clock3nowEv();

std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
    return __real__ZNSt6chrono3_V212steady_clock3nowEv() + std::chrono::nanoseconds(ahead);
}
}

namespace oratorio::test {
namespace {

/// A few agents, whose stores share one disk.
class Few {
  public:
    explicit Few(MemoryDisk& disk, int agents = 2, const MemoryStoreOptions& options = {},
                 std::chrono::milliseconds patience = 60s) {
        for (int agent = 0; agent < agents; ++agent) {
            AgentServer::Options server;
            for (int thread = 0; thread < 2; ++thread)
                server.file.stores.push_back(std::make_unique<MemoryStore>(disk, options));
            server.file.binding = {kBlock, agents};
            server.file.agent = agent;
            server.shipment_max = kMost;
            server.file.clients = 32;
            server.patience = patience;
            auto started = AgentServer::start(std::move(server));
            EXPECT_TRUE(started.ok());
            servers.push_back(std::move(*started));
        }
    }
    [[nodiscard]] std::vector<ServiceAddress> places() const {
        std::vector<ServiceAddress> all;
        for (const auto& server : servers) all.push_back(server->address());
        return all;
    }
    [[nodiscard]] std::unique_ptr<RemoteAgents> reached(const AgentLimits& limits = {}) const {
        auto agents = RemoteAgents::connect(places(), kBlock, kMost, limits);
        EXPECT_TRUE(agents.ok());
        return agents ? std::move(*agents) : nullptr;
    }
    std::vector<std::unique_ptr<AgentServer>> servers;
};

TEST(AgentServer, ManyRanksWriteAndReadAtOnceThroughFewBuffers) {
    constexpr int kRanks = 12;
    constexpr Bytes kPieces = 40;
    MemoryDisk disk;
    const Few few(disk);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
        ranks.emplace_back([&, rank] {
            const auto agents = few.reached();
            for (const Direction direction : {Direction::write, Direction::read}) {
                std::vector<Piece> pieces;
                for (Bytes i = 0; i < kPieces; ++i) {
                    const Offset at = (i * kRanks + rank) * kBlock;
                    const int value = direction == Direction::write ? rank + 1 : 0;
                    pieces.emplace_back(direction, static_cast<int>(at / kBlock % 2), at, kBlock,
                                        value);
                }
                // All pieces are shipped before the first reply is taken, many more than the agents
                // have buffers.
                for (std::size_t i = 0; i < pieces.size(); ++i) agents->ship(pieces[i].numbered(i));
                std::array<ReplyHead, 7> replies;
                std::size_t done = 0;
                for (std::size_t n = agents->reap(replies); n > 0; n = agents->reap(replies)) {
                    for (std::size_t i = 0; i < n; ++i)
                        EXPECT_EQ(replies[i].error.kind, ErrorKind::none);
                    done += n;
                }
                EXPECT_EQ(done, pieces.size());
                for (const Piece& piece : pieces)
                    EXPECT_EQ(piece.data, Buffer(kBlock, static_cast<std::byte>(rank + 1)));
            }
        });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(disk.size(), kRanks * kPieces * kBlock);
}

TEST(AgentServer, AFailedWriteComesBackInThatVeryRequest) {
    MemoryDisk disk(1500);
    const Few few(disk);
    const auto agents = few.reached();
    Piece good(Direction::write, 0, 0, 1000, 1);
    Piece bad(Direction::write, 1, 1000, 1000, 2);
    EXPECT_EQ(ask(*agents, good).error.kind, ErrorKind::none);
    const ReplyHead failed = ask(*agents, bad);
    EXPECT_EQ(failed.error.kind, ErrorKind::no_space);
    EXPECT_EQ(failed.error.system_errno, ENOSPC);
    EXPECT_EQ(failed.moved, 500);
    EXPECT_EQ(ask(*agents, good).error.kind, ErrorKind::none) << "the next call works";
}

TEST(AgentServer, EachRequestReportsThatTheServerIsGone) {
    MemoryDisk disk;
    Few few(disk, 1);
    const auto agents = few.reached();
    Piece piece(Direction::write, 0, 0, 1000, 1);
    EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none);
    EXPECT_TRUE(few.servers[0]->close().ok());
    for (int i = 0; i < 2; ++i) {
        const ReplyHead gone = ask(*agents, piece);
        EXPECT_EQ(gone.error.kind, ErrorKind::io);
        EXPECT_NE(gone.error.system_errno, 0);
        EXPECT_EQ(gone.moved, 0);
    }
    const auto none = RemoteAgents::connect(few.places(), kBlock, kMost);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().kind, ErrorKind::unsupported_operation);
    EXPECT_EQ(none.error().system_errno, ECONNREFUSED);
}

/// Returns the bytes of a request's head.
std::span<const std::byte> bytes_of(const RequestHead& head) {
    return std::as_bytes(std::span(&head, 1));
}

TEST(AgentServer, RejectsAClientWithoutTheToken) {
    MemoryDisk disk;
    const Few few(disk, 1);
    const auto agents = few.reached();
    const ServiceAddress place = few.servers[0]->address();
    Piece piece(Direction::write, 0, 0, 1000, 1);
    RawClient stranger(place);
    stranger.say(to_word(place.token + 1));
    stranger.say(bytes_of(piece.numbered(3).head));
    EXPECT_TRUE(stranger.is_closed());
    EXPECT_EQ(disk.size(), 0);
    EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none);
}

TEST(AgentServer, RejectsRequestsThatAreTooLongOrUnknown) {
    MemoryDisk disk;
    const Few few(disk, 1);
    const auto agents = few.reached();
    const ServiceAddress place = few.servers[0]->address();
    for (const RequestHead& head :
         {RequestHead{.described = 10, .data = kMost},
          RequestHead{.described = UINT64_MAX, .data = 2},
          RequestHead{.description = static_cast<Description>(9), .described = 1}}) {
        RawClient liar = RawClient::admitted(place);
        liar.say(bytes_of(head));
        EXPECT_TRUE(liar.is_closed());
    }
    Piece piece(Direction::write, 0, 0, 1000, 1);
    EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none);
}

TEST(AgentServer, SharedDataIsNotSent) {
    MemoryDisk disk;
    std::vector<std::byte> memory(static_cast<std::size_t>(SharedBuffers::bytes_needed(2, 4096)));
    const SharedBuffers shared(memory);
    AgentServer::Options options;
    options.file.stores.push_back(std::make_unique<MemoryStore>(disk));
    options.file.binding = {kBlock, 1};
    options.shipment_max = kMost;
    options.file.clients = 4;
    options.file.shared = shared;
    const auto server = std::move(*AgentServer::start(std::move(options)));
    const ServiceAddress place = server->address();
    const auto agents = std::move(*RemoteAgents::connect(std::span(&place, 1), kBlock, kMost));
    const auto mine = shared.area(1, 4096);
    agents->share(shared, mine, {true});
    for (const Direction direction : {Direction::write, Direction::read}) {
        Piece piece(direction, 0, 500, 2000, 9);
        Shipment shipment = piece.numbered(5);
        std::ranges::copy(piece.table, mine.begin());
        shipment.description = mine.first(piece.table.size());
        shipment.data = mine.subspan(1000, 2000);
        const bool writes = direction == Direction::write;
        std::ranges::fill(shipment.data, writes ? std::byte{9} : std::byte{0});
        EXPECT_TRUE(agents->ship(shipment));
        ReplyHead reply;
        EXPECT_EQ(agents->reap(std::span(&reply, 1)), 1U);
        EXPECT_EQ(reply.error.kind, ErrorKind::none);
        EXPECT_EQ(reply.data, 0U) << "no data comes through the socket";
        EXPECT_EQ(disk.contents({500, 2500}), Buffer(2000, std::byte{9}));
        EXPECT_TRUE(std::ranges::equal(shipment.data, Buffer(2000, std::byte{9})));
    }
    // A piece outside the shared memory is sent through the socket, as to an agent on another node.
    Piece piece(Direction::write, 0, 0, 100, 3);
    EXPECT_FALSE(agents->ship(piece.numbered(6)));
    ReplyHead reply;
    EXPECT_EQ(agents->reap(std::span(&reply, 1)), 1U);
    EXPECT_EQ(disk.contents({0, 100}), Buffer(100, std::byte{3}));
}

TEST(AgentServer, RejectsPointersOutsideOfSharedMemory) {
    MemoryDisk disk;
    const Few few(disk, 1);
    const ServiceAddress place = few.servers[0]->address();
    for (const std::uint64_t at : {std::uint64_t{64}, UINT64_MAX - 1, std::uint64_t{0}}) {
        RawClient liar = RawClient::admitted(place);
        liar.say(bytes_of(
            {.writes = 1, .described = 4, .data = 100, .described_at = at, .data_at = 64}));
        EXPECT_TRUE(liar.is_closed());
    }
    EXPECT_EQ(disk.size(), 0);
}

/// These clients behave like ranks that were stopped in the middle of a call: they hold all of the
/// agent's buffers.
TEST(AgentServer, DisconnectsASlowClientWhenOthersNeedItsBuffer) {
    MemoryDisk disk;
    const Few few(disk, 1, {}, 50ms);
    const ServiceAddress place = few.servers[0]->address();
    std::vector<RawClient> stopped;
    for (int i = 0; i < 4; ++i) {
        stopped.push_back(RawClient::admitted(place));
        stopped.back().say(bytes_of({.writes = 1, .described = 4, .data = 1000}));
        stopped.back().say(std::array<std::byte, 2>{});
    }
    const auto agents = few.reached();
    Piece piece(Direction::write, 0, 0, 1000, 1);
    EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none);
    EXPECT_EQ(disk.size(), 1000);
}

/// The clock goes on while a job is suspended. Then no rank can send, but none is stopped for good.
TEST(AgentServer, KeepsAllClientsOfAJobThatWasSuspended) {
    constexpr int kRanks = 5;  // the last one waits for a buffer
    MemoryDisk disk;
    const Few few(disk, 1);
    const ServiceAddress place = few.servers[0]->address();
    std::vector<RawClient> ranks;
    std::vector<Piece> pieces;
    for (int rank = 0; rank < kRanks; ++rank) {
        pieces.emplace_back(Direction::write, 0, 100 * rank, 100, 1);
        RequestHead head = pieces.back().numbered(1).head;
        head.service = place.service;
        ranks.push_back(RawClient::admitted(place));
        ranks.back().say(bytes_of(head));
        ranks.back().say(pieces.back().table);
    }
    // When the agent admits a client, it has handled everything that was sent earlier.
    const RawClient before = RawClient::admitted(place);
    ahead += std::chrono::nanoseconds(1h).count();
    const RawClient after = RawClient::admitted(place);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        ranks[rank].say(pieces[rank].data);
        for (std::size_t word = 0; word < sizeof(ReplyHead) / sizeof(Word); ++word)
            (void)ranks[rank].hear();
    }
    EXPECT_EQ(disk.contents(), Buffer(100 * kRanks, std::byte{1}));
}

/// If late replies held buffers, a few ranks that take no replies would keep others from the file.
TEST(AgentServer, SlowReadersOfRepliesDoNotBlockWriters) {
    MemoryDisk disk;
    const Few few(disk, 1);
    const auto late = few.reached();
    std::vector<Piece> reads;
    for (int i = 0; i < 100; ++i) reads.emplace_back(Direction::read, 0, 0, kMost - 64, 0);
    for (std::size_t i = 0; i < reads.size(); ++i) late->ship(reads[i].numbered(i));
    const auto agents = few.reached();
    Piece piece(Direction::write, 0, 0, 1000, 1);
    std::thread other([&] { EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none); });
    ReplyHead reply;
    std::size_t done = 0;
    while (late->reap(std::span(&reply, 1)) > 0) ++done;
    EXPECT_EQ(done, reads.size());
    other.join();
}

TEST(AgentServer, WithoutMemoryStartingIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers end a program that requests this much memory";
#endif
    MemoryDisk disk;
    AgentServer::Options options;
    options.file.stores.push_back(std::make_unique<MemoryStore>(disk));
    options.shipment_max = Bytes{1} << 60;
    const auto refused = AgentServer::start(std::move(options));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::no_memory);
}

TEST(AgentServer, CloseReportsErrorsOfItsStores) {
    MemoryDisk disk;
    MemoryStoreOptions options;
    options.close_errno = EIO;
    Few few(disk, 1, options);
    const auto closed = few.servers[0]->close();
    ASSERT_FALSE(closed.ok());
    EXPECT_EQ(closed.error().system_errno, EIO);
    EXPECT_TRUE(few.servers[0]->close().ok()) << "once";
}

/// Runs a server that admits a rank and replies to its request with the bytes `said`. Returns the
/// reply that the rank's client reports.
ReplyHead reply_of_liar(std::span<const std::byte> said) {
    const auto listener = Socket::listen();
    const ServiceAddress place = at_loopback(*listener->port());
    std::thread liar([&] {
        pollfd watched{listener->number(), POLLIN, 0};
        ::poll(&watched, 1, -1);
        const auto client = listener->accept();
        Word token{};
        (void)client->receive(token, Socket::Clock::now() + kSoon);
        (void)client->send(to_word(2), Socket::Clock::now() + kSoon);
        RequestHead head;
        (void)client->receive(std::as_writable_bytes(std::span(&head, 1)),
                              Socket::Clock::now() + kSoon);
        (void)client->send(said, Socket::Clock::now() + kSoon);
        // Waits until the client closes.
        (void)client->receive(token, Socket::Clock::now() + kSoon);
    });
    auto agents = RemoteAgents::connect(std::span(&place, 1), kBlock, kMost);
    EXPECT_TRUE(agents.ok());
    Piece piece(Direction::read, 0, 0, 100, 7);
    const ReplyHead reply = ask(**agents, piece);
    agents->reset();
    liar.join();
    return reply;
}

TEST(RemoteAgents, InvalidRepliesFailTheirCall) {
    const ReplyHead replies[] = {{.number = 2, .data = 100},   // there is no such request
                                 {.number = 1, .data = 1000},  // more than was requested
                                 {.number = 1, .data = 0}};    // less than was requested
    for (const ReplyHead& reply : replies) {
        const ReplyHead got = reply_of_liar(std::as_bytes(std::span(&reply, 1)));
        EXPECT_EQ(got.error.kind, ErrorKind::io);
        EXPECT_EQ(got.error.system_errno, EPROTO);
    }
}

}  // namespace
}  // namespace oratorio::test
