// SPDX-License-Identifier: BSD-3-Clause
// Which ranks a sync waits for: none, if flushing on each rank alone is enough.
#include <array>
#include <cerrno>
#include <utility>

#include "sim/file_ranks.hpp"
#include "support/memory_store.hpp"

namespace oratorio::test::sync_test {
namespace {

/// If a sync were collective here, ranks would differ in their collectives or wait forever, and the
/// simulation would report that.
TEST(Sync, ByOneRankReturnsIfRanksShareAKernel) {
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

TEST(Sync, ByOneRankReturnsOnSeveralNodesIfNoOtherRankWritesItsData) {
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

/// Another node's aggregator may have this rank's data in its page cache, so a sync must wait for
/// all ranks.
TEST(Sync, AfterACollectiveWriteOfSeveralNodesReturnsWhenAllRanksHaveFlushed) {
    std::array<bool, 4> come{};  // not locked, because the simulation runs one rank at a time
    on_two_nodes([&come](File& file, Rank rank) {
        std::vector<std::byte> data(64, std::byte{7});
        EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
        come[static_cast<std::size_t>(rank)] = true;
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        EXPECT_EQ(come, (std::array{true, true, true, true}));
    });
}

/// A store that reports a failed write of metadata to the first flush only, as the operating system
/// does.
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

TEST(Sync, AnErrorThatOneRankGetsReachesAllRanksOnce) {
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

/// Returns a call with the method `sparse`, for files in a MemoryStore on `disk`.
OpenCall sparse_call(MemoryDisk& disk, HintMap hints, const MemoryStoreOptions& options = {}) {
    hints["oratorio_method"] = "sparse";
    OpenCall call = call_of("data", kCreate, hints);
    call.open_store = [&disk, options](const std::string&,
                                       const OpenMode&) -> Result<std::unique_ptr<Store>> {
        return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk, options));
    };
    return call;
}

/// Writes `bytes` bytes as this rank's part of a collective write. Returns the error.
ErrorKind write_part(File& file, Bytes bytes, Offset at) {
    std::vector<std::byte> data(static_cast<std::size_t>(bytes), std::byte{7});
    return file.access(call_for(Direction::write, data, true, Positioning::explicit_offset, at))
        .error.kind;
}

TEST(Sync, AFailureThatAllRanksKnowIsNotReportedAgain) {
    for (const bool closes : {false, true}) {
        MemoryDisk disk(150);
        const OpenCall call = sparse_call(disk, {});
        on_ranks(4, [&](Transport& transport) {
            auto file = open_on(transport, call);
            EXPECT_EQ(kind_of(file), ErrorKind::none);
            EXPECT_EQ(write_part(**file, 64, 64 * transport.topology().rank), ErrorKind::no_space);
            if (!closes) {
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::none);
            }
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            return 0;
        });
    }
}

/// Ranks 0 and 2 aggregate. The data that rank 2 writes for rank 3 does not fit on the disk.
TEST(Sync, AFailureOfSomeRanksIsReportedToAllOnce) {
    for (const bool closes : {false, true}) {
        MemoryDisk disk(150);
        const OpenCall call = sparse_call(disk, {{"cb_nodes", "2"}});
        on_ranks(4, [&](Transport& transport) {
            auto file = open_on(transport, call);
            EXPECT_EQ(kind_of(file), ErrorKind::none);
            const Rank rank = transport.topology().rank;
            const Bytes bytes = rank == 3 ? 4096 : rank == 0 ? 64 : 0;
            EXPECT_EQ(write_part(**file, bytes, rank == 3 ? 8192 : 0),
                      rank < 2 ? ErrorKind::none : ErrorKind::no_space);
            if (!closes) {
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::no_space) << rank;
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::none) << rank;
            }
            EXPECT_EQ(kind_of((*file)->close()), closes ? ErrorKind::no_space : ErrorKind::none);
            return 0;
        });
    }
}

/// Two writes fail. Ranks 2 and 3 learn of the first failure and ranks 0 and 1 of the second, so
/// that each rank knows of only one when it syncs or closes.
TEST(Sync, ReportsEachSparseWriteThatFailedOnOtherRanks) {
    for (const bool closes : {false, true}) {
        MemoryDisk disk;
        const OpenCall call = sparse_call(disk, {{"cb_nodes", "2"}}, {.bad_writes = {8192, 8200}});
        on_ranks(4, [&](Transport& transport) {
            auto file = open_on(transport, call);
            EXPECT_EQ(kind_of(file), ErrorKind::none);
            const Rank rank = transport.topology().rank;
            EXPECT_EQ(write_part(**file,
                                 rank == 3   ? 4096
                                 : rank == 0 ? 64
                                             : 0,
                                 rank == 3 ? 8192 : 0),
                      rank < 2 ? ErrorKind::none : ErrorKind::io);
            EXPECT_EQ(write_part(**file,
                                 rank == 1   ? 4096
                                 : rank == 3 ? 64
                                             : 0,
                                 rank == 1 ? 8192 : 32768),
                      rank < 2 ? ErrorKind::io : ErrorKind::none);
            if (!closes) {
                EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::io) << rank;
            }
            EXPECT_EQ(kind_of((*file)->close()), closes ? ErrorKind::io : ErrorKind::none) << rank;
            return 0;
        });
    }
}

}  // namespace
}  // namespace oratorio::test::sync_test
