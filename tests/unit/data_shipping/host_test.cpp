// SPDX-License-Identifier: BSD-3-Clause
// AgentHost: the resources that the agents of several open files have in common.
#include "data_shipping/host.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "data_shipping/remote_agents.hpp"
#include "data_shipping/server.hpp"
#include "support/memory_store.hpp"
#include "support/resource_limit.hpp"
#include "unit/data_shipping/agent_pieces.hpp"

namespace oratorio::test::host_test {
namespace {

/// Amounts of this process's resources that a system can run out of.
struct Used {
    std::int64_t descriptors = 0;
    std::int64_t threads = 0;
    std::int64_t memory = 0;  ///< bytes of address space in use
};

Used used_now() {
    Used used;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
        used.descriptors += each.is_symlink() ? 1 : 0;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "Threads:") status >> used.threads;
        if (word == "VmSize:" && status >> used.memory) used.memory <<= 10;
    }
    return used;
}

/// Agents of several open files in one process. Each file has a disk of its own.
class ManyFiles {
  public:
    explicit ManyFiles(std::size_t files, Bytes shipment_max = kMost) : disks_(files) {
        for (MemoryDisk& disk : disks_) {
            AgentServer::Options options;
            for (int thread = 0; thread < 2; ++thread)
                options.file.stores.push_back(std::make_unique<MemoryStore>(disk));
            options.file.binding = {kBlock, 1};
            options.file.clients = 4;
            options.shipment_max = shipment_max;
            options.hosts = &hosts_;
            auto started = AgentServer::start(std::move(options));
            EXPECT_TRUE(started.ok());
            servers.push_back(std::move(*started));
        }
    }
    [[nodiscard]] const MemoryDisk& disk(std::size_t file) const { return disks_[file]; }
    [[nodiscard]] std::unique_ptr<RemoteAgents> reached(std::size_t file) const {
        return std::move(
            *RemoteAgents::connect(std::span(&servers[file]->address(), 1), kBlock, kMost));
    }

  private:
    std::deque<MemoryDisk> disks_;
    AgentHosts hosts_;

  public:
    std::vector<std::unique_ptr<AgentServer>> servers;
};

TEST(AgentHosts, ResourcesDoNotGrowWithTheNumberOfFiles) {
    constexpr std::size_t kFiles = 300;
    const Used before = used_now();
    {
        ManyFiles files(kFiles, Bytes{8} << 20);
        const Used there = used_now();
        EXPECT_EQ(there.threads, before.threads + 2);
        EXPECT_LE(there.descriptors, before.descriptors + 3);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        EXPECT_LT(there.memory, before.memory + (Bytes{1} << 30)) << "each file once took 32 MiB";
#endif
        for (std::size_t file = 0; file < kFiles; ++file) {
            const auto agents = files.reached(file);
            Piece piece(Direction::write, 0, 0, 100, static_cast<int>(file % 100) + 1);
            EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none);
        }
        for (std::size_t file = 0; file < kFiles; ++file) {
            EXPECT_EQ(files.disk(file).contents(),
                      Buffer(100, static_cast<std::byte>(file % 100 + 1)));
            EXPECT_TRUE(files.servers[file]->close().ok());
        }
        const Used after = used_now();
        EXPECT_EQ(after.threads, before.threads);
        EXPECT_EQ(after.descriptors, before.descriptors);
    }
}

TEST(AgentHosts, AFileThatIsClosedIsServedNoMoreAndTheOthersStillAre) {
    ManyFiles files(3);
    const auto first = files.reached(0);
    const auto second = files.reached(1);
    Piece piece(Direction::write, 0, 0, 100, 5);
    EXPECT_EQ(ask(*first, piece).error.kind, ErrorKind::none);
    EXPECT_TRUE(files.servers[0]->close().ok());
    const ReplyHead gone = ask(*first, piece);
    EXPECT_EQ(gone.error.kind, ErrorKind::io);
    EXPECT_EQ(ask(*second, piece).error.kind, ErrorKind::none);
    EXPECT_EQ(files.disk(1).contents(), Buffer(100, std::byte{5}));
    EXPECT_EQ(files.disk(2).size(), 0);
}

/// poll(2) refuses more descriptors than the process may have.
TEST(AgentHosts, RanksLearnThatAHostCanNoLongerWait) {
    ManyFiles files(4);
    std::vector<std::unique_ptr<RemoteAgents>> ranks;
    for (std::size_t rank = 0; rank < 8; ++rank) {
        ranks.push_back(files.reached(rank % 4));
        Piece piece(Direction::write, 0, 0, 100, 1);
        EXPECT_EQ(ask(*ranks.back(), piece).error.kind, ErrorKind::none);
    }
    const ResourceLimit few(RLIMIT_NOFILE, 8);
    Piece next(Direction::write, 0, 0, 100, 2);
    (void)ask(*ranks[0], next);  // is still served if a thread was already waiting in poll(2)
    for (std::size_t rank = 1; rank < 8; ++rank) {
        Piece piece(Direction::write, 0, 0, 100, 3);
        EXPECT_EQ(ask(*ranks[rank], piece).error.kind, ErrorKind::io);
    }
}

/// Files are closed while other ranks still access other files.
TEST(AgentHosts, FilesMayBeOpenedAndClosedWhileOthersAreServed) {
    ManyFiles files(6);
    std::vector<std::thread> ranks;
    for (std::size_t file = 0; file < 6; ++file) {
        ranks.emplace_back([&, file] {
            const auto agents = files.reached(file);
            for (int i = 0; i < 50; ++i) {
                Piece piece(Direction::write, 0, 100 * i, 100, static_cast<int>(file) + 1);
                EXPECT_EQ(ask(*agents, piece).error.kind, ErrorKind::none);
            }
            EXPECT_TRUE(files.servers[file]->close().ok());
        });
    }
    for (std::thread& rank : ranks) rank.join();
    for (std::size_t file = 0; file < 6; ++file)
        EXPECT_EQ(files.disk(file).contents(), Buffer(5000, static_cast<std::byte>(file + 1)));
}

}  // namespace
}  // namespace oratorio::test::host_test
