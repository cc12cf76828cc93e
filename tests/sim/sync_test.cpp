// SPDX-License-Identifier: BSD-3-Clause
// Who waits for whom in a sync: nobody, where each rank's own flush is all of it.
#include <array>
#include <cerrno>
#include <utility>

#include "sim/file_ranks.hpp"
#include "support/memory_store.hpp"

namespace oratorio::test {
namespace {

/// The simulation ends with an explanation when ranks differ in their collectives or wait for ever.
TEST(Sync, ByOneRankAloneReturnsWhereRanksShareAKernel) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate), [](File& file, Rank rank) {
        std::vector<std::byte> data(64, std::byte{7});
        EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
        if (rank == 1) {
            EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        }
        EXPECT_EQ(kind_of(file.set_size(100)), ErrorKind::none);
    });
}

template <class Body>
void on_two_nodes(Body body) {
    const Folder folder;
    SimOptions options;
    options.ranks = 4;
    options.ranks_per_node = 2;
    run_ranks(options, [&](Transport& transport) {
        auto file = open_on(transport, call_of(folder.file("data"), kCreate));
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        body(**file, transport.topology().rank);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
}

TEST(Sync, ByOneRankAloneReturnsOnSeveralNodesWhileNobodyElseWritesItsData) {
    on_two_nodes([](File& file, Rank rank) {
        std::vector<std::byte> data(64, std::byte{7});
        EXPECT_EQ(file.access(call_for(Direction::write, data, false)).bytes, 64);
        if (rank == 1) {
            EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        }
        EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        if (rank == 2) {
            EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        }
    });
}

/// An aggregator of another node may hold this rank's data in its page cache.
TEST(Sync, AfterACollectiveWriteOfSeveralNodesReturnsWhenAllRanksHaveFlushed) {
    std::array<bool, 4> come{};  // one rank of the simulation runs at a time
    on_two_nodes([&come](File& file, Rank rank) {
        std::vector<std::byte> data(64, std::byte{7});
        EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
        come[static_cast<std::size_t>(rank)] = true;
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        EXPECT_EQ(come, (std::array{true, true, true, true}));
    });
}

/// Of a file's metadata the system tells a failure to whoever flushes first, and then forgets it.
class ToldOnce final : public MemoryStore {
  public:
    ToldOnce(MemoryDisk& disk, bool& is_told) : MemoryStore(disk), is_told_(is_told) {}
    Result<void> sync() override {
        if (std::exchange(is_told_, true)) return MemoryStore::sync();
        return Error::make(ErrorKind::io, "sync", EIO);
    }

  private:
    bool& is_told_;
};

TEST(Sync, WhatTheSystemTellsToOneRankIsToldToAllRanksOnce) {
    MemoryDisk disk;
    bool is_told = false;
    OpenCall call = call_of("data", kCreate);
    call.open_store = [&](const std::string&, const OpenMode&) -> Result<std::unique_ptr<Store>> {
        return std::unique_ptr<Store>(std::make_unique<ToldOnce>(disk, is_told));
    };
    with_file_on_node(3, call, [&is_told](File& file, Rank rank) {
        std::vector<std::byte> data(64, std::byte{7});
        EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::io) << rank;
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none) << rank;
        EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
        if (rank == 0) is_told = false;
        EXPECT_EQ(kind_of(file.set_size(500)), ErrorKind::none);
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::io) << rank;
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none) << rank;
    });
}

TEST(Sync, ASparseWriteOfWhoseFailureAllHaveHeardIsToldNoMore) {
    for (const bool closes : {false, true}) {
        MemoryDisk disk(150);
        OpenCall call = call_of("data", kCreate, {{"oratorio_method", "sparse"}});
        call.open_store = [&](const std::string&,
                              const OpenMode&) -> Result<std::unique_ptr<Store>> {
            return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk));
        };
        on_ranks(4, [&](Transport& transport) {
            auto file = open_on(transport, call);
            EXPECT_EQ(kind_of(file), ErrorKind::none);
            std::vector<std::byte> data(64, std::byte{7});
            const Outcome outcome =
                (*file)->access(call_for(Direction::write, data, true, Positioning::explicit_offset,
                                         64 * transport.topology().rank));
            EXPECT_EQ(outcome.error.kind, ErrorKind::no_space);
            if (!closes) {
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::none);
            }
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            return 0;
        });
    }
}

/// Ranks 0 and 2 aggregate; what rank 2 writes for rank 3 doesn't fit.
TEST(Sync, AfterASparseWriteThatFailedOnSomeRanksAllAreToldOnce) {
    for (const bool closes : {false, true}) {
        MemoryDisk disk(150);
        OpenCall call =
            call_of("data", kCreate, {{"oratorio_method", "sparse"}, {"cb_nodes", "2"}});
        call.open_store = [&](const std::string&,
                              const OpenMode&) -> Result<std::unique_ptr<Store>> {
            return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk));
        };
        on_ranks(4, [&](Transport& transport) {
            auto file = open_on(transport, call);
            EXPECT_EQ(kind_of(file), ErrorKind::none);
            const Rank rank = transport.topology().rank;
            std::vector<std::byte> data(rank == 3 ? 4096 : 64, std::byte{7});
            const Offset at = rank == 3 ? 8192 : 0;
            if (rank != 0 && rank != 3) data.clear();
            const Outcome outcome = (*file)->access(
                call_for(Direction::write, data, true, Positioning::explicit_offset, at));
            EXPECT_EQ(outcome.error.kind, rank < 2 ? ErrorKind::none : ErrorKind::no_space);
            if (!closes) {
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::no_space) << rank;
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::none) << rank;
            }
            EXPECT_EQ(kind_of((*file)->close()), closes ? ErrorKind::no_space : ErrorKind::none);
            return 0;
        });
    }
}

}  // namespace
}  // namespace oratorio::test
