// SPDX-License-Identifier: BSD-3-Clause
// Write-behind: records written with the shared file pointer are gathered in the node's memory.
// Every record ends up in the file once, few system calls are made, and no query of the file shows
// a difference.
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <map>

#include "sim/file_ranks.hpp"

namespace oratorio::test::write_behind_test {
namespace {

constexpr std::size_t kRecord = 7;

HintMap gathering(std::size_t bytes) {
    return {{"oratorio_shared_write_behind", std::to_string(bytes)}};
}

std::vector<std::byte> record_of(Rank rank, std::size_t bytes = kRecord) {
    return std::vector<std::byte>(bytes, std::byte('a' + rank));
}

Outcome append(File& file, Rank rank, std::size_t bytes = kRecord) {
    auto record = record_of(rank, bytes);
    return file.access(call_for(Direction::write, record, false, Positioning::shared));
}

/// Returns the number of records of each rank in the content. The test fails if a record is torn.
std::map<char, int> counted(const std::string& content) {
    std::map<char, int> records;
    EXPECT_EQ(content.size() % kRecord, 0U);
    for (std::size_t at = 0; at + kRecord <= content.size(); at += kRecord) {
        EXPECT_EQ(content.substr(at, kRecord), std::string(kRecord, content[at]));
        ++records[content[at]];
    }
    return records;
}

TEST(WriteBehind, EachRecordIsInTheFileOnceInFewSystemCalls) {
    constexpr int kEach = 100;
    for (const int ranks : kRankCounts) {
        const Folder folder;
        std::atomic<std::uint64_t> calls{0};
        with_file_on_node(ranks, call_of(folder.file("data"), kCreate, gathering(1000)),
                          [&](File& file, Rank rank) {
                              for (int i = 0; i < kEach; ++i) {
                                  EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
                                  if (i % 10 == 0) file.transport().idle();
                              }
                              EXPECT_TRUE(file.sync().ok());
                              calls += file.stats().storage_calls;
                          });
        const auto records = counted(folder.read("data"));
        EXPECT_EQ(records.size(), static_cast<std::size_t>(ranks));
        for (const auto& [letter, number] : records) EXPECT_EQ(number, kEach) << letter;
        const std::size_t in_all = kRecord * kEach * static_cast<std::size_t>(ranks);
        // Each storage call writes a full buffer, except that a rank which syncs writes what has
        // been gathered.
        EXPECT_LE(calls, in_all / (1000 / kRecord * kRecord) + static_cast<std::size_t>(ranks));
    }
}

TEST(WriteBehind, RecordsWaitForSync) {
    const Folder folder;
    with_file_on_node(
        3, call_of(folder.file("data"), kCreate, gathering(1000)), [&](File& file, Rank rank) {
            EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
            std::uint64_t here = 0;
            EXPECT_TRUE(reduce(file.transport(), std::span(&here, 1), ReduceOp::sum).ok());
            EXPECT_EQ(folder.read("data"), "");
            EXPECT_TRUE(reduce(file.transport(), std::span(&here, 1), ReduceOp::sum).ok());
            EXPECT_EQ(*file.position_shared(), 3 * Offset{kRecord});
            EXPECT_TRUE(file.sync().ok());
            EXPECT_EQ(folder.read("data").size(), 3 * kRecord);
        });
}

TEST(WriteBehind, WithoutTheHintNothingWaits) {
    const Folder folder;
    with_file_on_node(2, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
        EXPECT_GE(folder.read("data").size(), kRecord);
    });
}

TEST(WriteBehind, EveryOtherCallSeesTheRecords) {
    using Look = std::function<void(File&)>;
    const auto read_at = [](File& file) {
        std::vector<std::byte> found(kRecord);
        EXPECT_EQ(
            file.access(call_for(Direction::read, found, false, Positioning::explicit_offset, 0))
                .bytes,
            Bytes{kRecord});
        EXPECT_EQ(found, record_of(0));
    };
    const auto start_read = [](File& file) {
        std::vector<std::byte> found(kRecord);
        const auto read =
            file.start(call_for(Direction::read, found, false, Positioning::explicit_offset, 0));
        EXPECT_EQ(file.finish(read).bytes, Bytes{kRecord});
    };
    const auto size = [](File& file) { EXPECT_EQ(*file.size(), Bytes{kRecord}); };
    const auto seek_end = [](File& file) {
        EXPECT_TRUE(file.seek(0, Whence::end).ok());
        EXPECT_EQ(file.position(), Offset{kRecord});
    };
    const auto grow = [](File& file) {
        EXPECT_TRUE(file.preallocate(3).ok());
        EXPECT_EQ(*file.size(), Bytes{kRecord});
    };
    const auto atomic = [](File& file) { EXPECT_TRUE(file.set_atomicity(true).ok()); };
    const auto hint_off = [](File& file) { EXPECT_TRUE(file.set_hints(gathering(0)).ok()); };
    for (const Look& look :
         std::initializer_list<Look>{read_at, start_read, size, seek_end, grow, atomic, hint_off}) {
        const Folder folder;
        with_file_on_node(1, call_of(folder.file("data"), kCreate, gathering(1000)),
                          [&](File& file, Rank rank) {
                              EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
                              EXPECT_EQ(folder.read("data"), "");
                              look(file);
                              EXPECT_EQ(folder.read("data"), std::string(kRecord, 'a'));
                          });
    }
}

TEST(WriteBehind, LongRecordsAndOtherMovesOfThePointerKeepTheOrder) {
    const Folder folder;
    with_file_on_node(1, call_of(folder.file("data"), kCreate, gathering(20)),
                      [&](File& file, Rank) {
                          EXPECT_EQ(append(file, 0, 5).bytes, 5);
                          EXPECT_EQ(append(file, 1, 50).bytes, 50);
                          EXPECT_EQ(append(file, 2, 5).bytes, 5);
                          EXPECT_TRUE(file.seek_shared(70, Whence::set).ok());
                          EXPECT_EQ(append(file, 3, 5).bytes, 5);
                          EXPECT_TRUE(file.seek_shared(62, Whence::set).ok());
                          EXPECT_EQ(append(file, 4, 10).bytes, 10);
                      });
    std::string content = folder.read("data");
    std::ranges::replace(content, '\0', '.');
    EXPECT_EQ(content, "aaaaa" + std::string(50, 'b') + "ccccc..eeeeeeeeeeddd");
}

/// Waits until all ranks of the file have called it.
void rendezvous(File& file) {
    std::uint64_t here = 0;
    EXPECT_TRUE(reduce(file.transport(), std::span(&here, 1), ReduceOp::sum).ok());
}

TEST(WriteBehind, AFullDiskIsAnErrorOfTheCallThatMeetsItAndLosesNothing) {
    const Folder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    with_file_on_node(
        3, call_of(folder.file("data"), kCreate, gathering(30)), [&](File& file, Rank rank) {
            const rlimit small{10, before.rlim_max};
            EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
            EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
            rendezvous(file);
            const auto place = *file.position_shared();
            EXPECT_EQ(place, 3 * Offset{kRecord});
            rendezvous(file);
            const Outcome refused = append(file, rank, 30);
            EXPECT_EQ(refused.bytes, 0);
            EXPECT_EQ(refused.error.kind, ErrorKind::io);
            EXPECT_EQ(refused.error.system_errno, EFBIG);
            EXPECT_EQ(refused.error.rank, rank);
            EXPECT_EQ(refused.error.offset, 10);
            EXPECT_NE(std::string(refused.error.what).find("oratorio_shared_write_behind"),
                      std::string::npos);
            rendezvous(file);
            EXPECT_EQ(*file.position_shared(), place) << "what isn't written takes no place";
            EXPECT_EQ(kind_of(file.sync()), ErrorKind::io) << "on all ranks";
            EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
            rendezvous(file);
            EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        });
    std::signal(SIGXFSZ, handler);
    const auto records = counted(folder.read("data"));
    EXPECT_EQ(records, (std::map<char, int>{{'a', 1}, {'b', 1}, {'c', 1}}));
}

/// Gathers a record on each of two ranks and calls `body` while writes fail, as on a full disk.
/// Afterwards the records can be written.
void with_unwritable_records(const std::function<void(File&, Rank)>& body) {
    const Folder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    with_file_on_node(2, call_of(folder.file("data"), kCreate, gathering(1000)),
                      [&](File& file, Rank rank) {
                          EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
                          const rlimit small{3, before.rlim_max};
                          EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
                          rendezvous(file);
                          body(file, rank);
                          rendezvous(file);
                          EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
                          EXPECT_TRUE(file.sync().ok());
                      });
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(counted(folder.read("data")), (std::map<char, int>{{'a', 1}, {'b', 1}}));
}

TEST(WriteBehind, AnAccessThatUnwritableRecordsRefuseLeavesItsFilePointer) {
    with_unwritable_records([](File& file, Rank rank) {
        auto bytes = record_of(rank);
        const auto call = call_for(Direction::write, bytes, false, Positioning::individual);
        const auto started = file.start(call);
        EXPECT_EQ(file.finish(started).error.system_errno, EFBIG);
        EXPECT_EQ(file.position(), 0);
        EXPECT_EQ(file.access(call).error.system_errno, EFBIG);
        EXPECT_EQ(file.position(), 0);
    });
}

TEST(WriteBehind, AViewThatUnwritableRecordsRefuseLeavesTheSharedFilePointer) {
    with_unwritable_records([](File& file, Rank) {
        EXPECT_EQ(kind_of(file.set_view(View::bytes(), gathering(2000))), ErrorKind::io);
        EXPECT_EQ(*file.position_shared(), 2 * Offset{kRecord});
    });
}

TEST(WriteBehind, HintsThatUnwritableRecordsRefuseStayAsTheyWere) {
    with_unwritable_records([](File& file, Rank) {
        const HintMap before = file.reported_hints();
        HintMap other = gathering(0);
        other["cb_buffer_size"] = "12345";
        EXPECT_EQ(kind_of(file.set_hints(other, {})), ErrorKind::io);
        EXPECT_EQ(file.reported_hints(), before);
    });
}

TEST(WriteBehind, CloseReportsUnwritableRecordsOnAllRanks) {
    const Folder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const auto closed = on_ranks(3, [&](Transport& transport) {
        auto node = NodeTransport::over(std::make_unique<Lent>(transport));
        auto file = File::open(std::make_shared<Workspace>(std::move(*node)),
                               call_of(folder.file("data"), kCreate, gathering(1000)));
        EXPECT_EQ(append(**file, transport.topology().rank).bytes, Bytes{kRecord});
        const rlimit small{10, before.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        return kind_of((*file)->close());
    });
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(closed, std::vector<ErrorKind>(3, ErrorKind::io));
}

TEST(WriteBehind, WithoutSharedMemoryWarnsAndWritesAtOnce) {
    const Folder folder;
    std::string said;
    OpenCall call = call_of(folder.file("data"), kCreate, gathering(1000));
    call.narrate = [&said](const std::string& text) { said += text; };
    with_file(2, call, [&](File& file, Rank rank) {
        EXPECT_EQ(append(file, rank).bytes, Bytes{kRecord});
        EXPECT_GE(folder.read("data").size(), kRecord);
    });
    EXPECT_NE(said.find("oratorio_shared_write_behind"), std::string::npos);
}

}  // namespace
}  // namespace oratorio::test::write_behind_test
