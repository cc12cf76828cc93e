// SPDX-License-Identifier: BSD-3-Clause
// Lazy open: files that only rank 0 and the aggregators open at first (hint romio_no_indep_rw). The
// tests check which ranks open the file, when they do, and which calls work on ranks that have not
// opened it.
#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <set>
#include <sstream>

#include "sim/file_ranks.hpp"
#include "sim/presence.hpp"
#include "support/memory_store.hpp"
#include "support/method_names.hpp"

namespace oratorio::test::deferred_open_test {
namespace {

const HintMap kPromise{{"romio_no_indep_rw", "true"}};

HintMap promised_with(const HintMap& more) {
    HintMap all = kPromise;
    all.insert(more.begin(), more.end());
    return all;
}

struct Job {
    int ranks = 8;
    int ranks_per_node = 0;  ///< 0: all ranks are on one node with shared memory
};

/// Opens a file on all ranks, runs `body` with it, and closes it.
template <class Body>
void on_file(const Job& job, const OpenCall& call, Body body) {
    SimOptions options;
    options.ranks = job.ranks;
    options.ranks_per_node = job.ranks_per_node;
    run_ranks(options, [&](Transport& transport) {
        std::unique_ptr<Transport> way = std::make_unique<Lent>(transport);
        if (job.ranks_per_node == 0) way = std::move(*NodeTransport::over(std::move(way)));
        auto file = File::open(std::make_shared<Workspace>(std::move(way)), call);
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        body(**file, transport.topology().rank);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
}

std::set<Rank> aggregators_of(const File& file) {
    std::istringstream list(file.reported_hints().at("romio_aggregator_list"));
    std::set<Rank> ranks{0};
    for (Rank rank = 0; list >> rank;) ranks.insert(rank);
    return ranks;
}

std::vector<std::byte> bytes_of(Rank rank, std::size_t length) {
    return std::vector<std::byte>(length, std::byte('a' + rank));
}

/// Returns a view of pieces of 16 bytes that belong to the ranks in turn.
View interleaved(Rank rank, int ranks) {
    View view = View::bytes();
    view.file = {Shape::run(16), Bytes{16} * ranks, Offset{16} * rank, Layout::unbounded};
    return view;
}

constexpr std::size_t kEach = 4096;

std::string all_pieces(int ranks) {
    std::string content;
    for (std::size_t piece = 0; piece < kEach / 16; ++piece) {
        for (Rank rank = 0; rank < ranks; ++rank) content += std::string(16, char('a' + rank));
    }
    return content;
}

ErrorKind access(File& file, Direction direction, std::vector<std::byte>& data, bool collective,
                 Positioning at = Positioning::explicit_offset, Offset offset = 0) {
    const Outcome outcome = file.access(call_for(direction, data, collective, at, offset));
    if (outcome.error.kind == ErrorKind::none) {
        EXPECT_EQ(outcome.bytes, std::ssize(data));
    }
    return outcome.error.kind;
}

const Job kJobs[] = {{8, 0}, {8, 4}, {9, 3}, {6, 1}};

TEST(DeferredOpen, RankZeroAndAggregatorsOpenTheFileAndNobodyElseForCollectiveAccess) {
    for (const Job& job : kJobs) {
        const Folder folder;
        on_file(job, call_of(folder.file("data"), kCreate, promised_with({{"cb_nodes", "2"}})),
                [&](File& file, Rank rank) {
                    const std::uint64_t opens = aggregators_of(file).contains(rank) ? 1 : 0;
                    EXPECT_EQ(file.stats().opens, opens);
                    EXPECT_EQ(file.reported_hints().at("romio_no_indep_rw"), "true");
                    EXPECT_EQ(kind_of(file.set_view(interleaved(rank, job.ranks), {})),
                              ErrorKind::none);
                    auto data = bytes_of(rank, kEach);
                    std::vector<std::byte> back(kEach);
                    for (int time = 0; time < 3; ++time) {
                        EXPECT_EQ(access(file, Direction::write, data, true), ErrorKind::none);
                        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
                        EXPECT_EQ(access(file, Direction::read, back, true), ErrorKind::none);
                        EXPECT_EQ(back, data);
                    }
                    EXPECT_EQ(kind_of(file.set_size(100'000)), ErrorKind::none);
                    EXPECT_EQ(file.stats().opens, opens);
                });
        EXPECT_EQ(folder.read("data").substr(0, kEach * 6),
                  all_pieces(job.ranks).substr(0, kEach * 6));
        EXPECT_EQ(folder.read("data").size(), 100'000u);
    }
}

TEST(DeferredOpen, AnyOtherRankOpensItWhenItNeedsIt) {
    for (const Job& job : kJobs) {
        const Folder folder;
        on_file(job, call_of(folder.file("data"), kCreate, promised_with({{"cb_nodes", "1"}})),
                [&](File& file, Rank rank) {
                    const Rank last = job.ranks - 1;
                    EXPECT_EQ(file.stats().opens, rank == 0 ? 1u : 0u);
                    auto data = bytes_of(rank, 100);
                    if (rank == last) {
                        EXPECT_EQ(access(file, Direction::write, data, false,
                                         Positioning::explicit_offset, 100 * rank),
                                  ErrorKind::none);
                        EXPECT_EQ(*file.size(), 100 * job.ranks);
                    }
                    EXPECT_EQ(file.stats().opens, rank == 0 || rank == last ? 1u : 0u);
                    EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
                });
        EXPECT_EQ(folder.read("data").substr(100 * (job.ranks - 1)),
                  std::string(100, char('a' + job.ranks - 1)));
    }
}

class DeferredOpenByMethod : public testing::TestWithParam<std::string> {};

TEST_P(DeferredOpenByMethod, MovesTheSameBytes) {
    for (const Job& job : kJobs) {
        SCOPED_TRACE(std::to_string(job.ranks_per_node) + " ranks per node");
        const Folder folder;
        OpenCall call =
            call_of(folder.file("data"), kCreate, promised_with({{"oratorio_method", GetParam()}}));
        call.inline_agents = true;
        on_file(job, call, [&](File& file, Rank rank) {
            EXPECT_EQ(kind_of(file.set_view(interleaved(rank, job.ranks), {})), ErrorKind::none);
            auto data = bytes_of(rank, kEach);
            std::vector<std::byte> back(kEach);
            for (int time = 0; time < 3; ++time) {  // the second and third time use the cached plan
                EXPECT_EQ(access(file, Direction::write, data, true), ErrorKind::none);
                EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
                EXPECT_EQ(access(file, Direction::read, back, true), ErrorKind::none);
                EXPECT_EQ(back, data);
            }
            EXPECT_EQ(kind_of(file.set_atomicity(true)), ErrorKind::none);
            EXPECT_EQ(access(file, Direction::write, data, true), ErrorKind::none);
            EXPECT_EQ(access(file, Direction::read, back, false), ErrorKind::none);
            EXPECT_EQ(back, data);
        });
        EXPECT_EQ(folder.read("data"), all_pieces(job.ranks));
    }
}

INSTANTIATE_TEST_SUITE_P(All, DeferredOpenByMethod, testing::ValuesIn(method_names()));

TEST(DeferredOpen, TheSharedPointerIsSharedByRanksThatHaveNotOpenedTheFile) {
    for (const Job& job : kJobs) {
        const Folder folder;
        on_file(job, call_of(folder.file("data"), kCreate, kPromise), [&](File& file, Rank rank) {
            auto data = bytes_of(rank, 50);
            EXPECT_EQ(access(file, Direction::write, data, true, Positioning::shared),
                      ErrorKind::none);
            EXPECT_EQ(access(file, Direction::write, data, false, Positioning::shared),
                      ErrorKind::none);
        });
        const std::string content = folder.read("data");
        std::string ordered;
        for (Rank rank = 0; rank < job.ranks; ++rank) ordered += std::string(50, char('a' + rank));
        EXPECT_EQ(content.size(), 2 * ordered.size());
        EXPECT_EQ(content.substr(0, ordered.size()), ordered);
    }
}

TEST(DeferredOpen, RecordsAreGatheredAndWrittenByARankWithTheFileOpen) {
    const Folder folder;
    const HintMap hints = promised_with({{"oratorio_shared_write_behind", "300"}});
    on_file({8, 0}, call_of(folder.file("data"), kCreate, hints), [&](File& file, Rank rank) {
        auto data = bytes_of(rank, 100);
        EXPECT_EQ(access(file, Direction::write, data, false, Positioning::shared),
                  ErrorKind::none);
    });
    std::string content = folder.read("data");
    std::ranges::sort(content);
    std::string expected;
    for (Rank rank = 0; rank < 8; ++rank) expected += std::string(100, char('a' + rank));
    EXPECT_EQ(content, expected);
}

TEST(DeferredOpen, AFileThatIsDeletedOnCloseIsGone) {
    const Folder folder;
    AccessMode mode = kCreate;
    mode.delete_on_close = true;
    on_file({6, 2}, call_of(folder.file("data"), mode, kPromise), [](File&, Rank) {});
    EXPECT_FALSE(folder.has("data"));
}

TEST(DeferredOpen, ARankThatOpensLateAnnouncesThatItMayWrite) {
    const Folder folder;
    const std::string path = folder.file("data");
    on_file({4, 2}, call_of(path, kCreate, promised_with({{"cb_nodes", "1"}})),
            [&](File& file, Rank rank) {
                if (rank != 3) return;
                auto data = bytes_of(rank, 10);
                EXPECT_EQ(access(file, Direction::write, data, false), ErrorKind::none);
                // The other ranks call close() before this rank continues.
                for (int i = 0; i < 1000; ++i) file.transport().idle();
                EXPECT_TRUE(is_shown(path));
            });
    EXPECT_FALSE(is_shown(path));
}

/// Makes rank 1, which shares a node with rank 0, open the file lazily for its first access,
/// between calls of `before` and `after`. Returns the error of that access.
Error late_error(
    const Folder& folder, const std::function<void()>& before,
    const std::function<void()>& after = [] {}) {
    Error error;
    on_file({4, 2}, call_of(folder.file("data"), kCreate, promised_with({{"cb_nodes", "1"}})),
            [&](File& file, Rank rank) {
                if (rank != 1) return;
                auto data = bytes_of(rank, 10);
                before();
                error = file.access(call_for(Direction::write, data, false,
                                             Positioning::explicit_offset, 0))
                            .error;
                EXPECT_EQ(file.stats().opens, 0u);
                after();
                if (error.kind == ErrorKind::no_such_file) return;
                EXPECT_EQ(access(file, Direction::write, data, false), ErrorKind::none)
                    << "the next call tries again";
            });
    return error;
}

TEST(DeferredOpenErrors, AFileThatIsGoneFailsOnlyThatCall) {
    const Folder folder;
    EXPECT_EQ(late_error(folder, [&] { std::filesystem::remove(folder.file("data")); }).kind,
              ErrorKind::no_such_file);
    EXPECT_FALSE(folder.has("data")) << "it isn't created again";
}

TEST(DeferredOpenErrors, AnotherFileWithTheNameIsRejected) {
    const Folder folder;
    const auto replace = [&] {
        folder.make("other", "something else");
        std::filesystem::rename(folder.file("other"), folder.file("data"));
    };
    const Error error = late_error(folder, replace);
    EXPECT_EQ(error.kind, ErrorKind::no_such_file);
    const std::string text = describe(error, "data");
    EXPECT_TRUE(
        text.ends_with("another file has taken this name since rank 0 opened it; don't remove or "
                       "rename open files"))
        << text;
    EXPECT_EQ(folder.read("data"), "something else");
}

TEST(DeferredOpenErrors, AFileThatMayNotBeOpenedFailsOnlyThatCall) {
    const Folder folder;
    ASSERT_EQ(chmod(folder.file("").c_str(), 0755), 0);
    std::optional<WithoutPrivileges> plain;
    const auto forbid = [&] {
        ASSERT_EQ(chmod(folder.file("data").c_str(), 0), 0);
        plain.emplace();
    };
    const auto allow = [&] {
        plain.reset();
        ASSERT_EQ(chmod(folder.file("data").c_str(), 0600), 0);
    };
    EXPECT_EQ(late_error(folder, forbid, allow).kind, ErrorKind::access);
}

TEST(DeferredOpenErrors, TooManyOpenFilesFailOnlyThatCall) {
    const Folder folder;
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    const auto limit = [&files](rlim_t most) {
        const rlimit now{most, files.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
    };
    const Error error = late_error(
        folder, [&] { limit(3); }, [&] { limit(files.rlim_cur); });
    EXPECT_EQ(error.kind, ErrorKind::io);
}

TEST(DeferredOpenErrors, AnAggregatorThatCantOpenTheFileFailsTheOpen) {
    OpenCall call = call_of("/simulated", kCreate, promised_with({{"cb_nodes", "4"}}));
    const auto kinds = on_ranks(4, [&](Transport& transport) {
        OpenCall own = call;
        MemoryDisk disk;
        own.open_store = [&](const std::string&,
                             const OpenMode&) -> Result<std::unique_ptr<Store>> {
            if (transport.topology().rank == 2) return Error::make(ErrorKind::access, "test");
            return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk));
        };
        return kind_of(open_on(transport, own));
    });
    EXPECT_EQ(kinds, std::vector<ErrorKind>(4, ErrorKind::access));
}

/// A rank's flush succeeds only if the aggregator that wrote its data has flushed successfully.
TEST(DeferredOpen, AFlushThatFailsWhereTheDataWasWrittenIsAnErrorOfAll) {
    MemoryDisk disk;
    OpenCall call = call_of("/simulated", kCreate, promised_with({{"cb_nodes", "1"}}));
    call.open_store = [&](const std::string&, const OpenMode&) -> Result<std::unique_ptr<Store>> {
        MemoryStoreOptions options;
        options.sync_errno = EIO;
        return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk, options));
    };
    on_file({4, 0}, call, [](File& file, Rank rank) {
        EXPECT_EQ(kind_of(file.set_view(interleaved(rank, 4), {})), ErrorKind::none);
        auto data = bytes_of(rank, kEach);
        EXPECT_EQ(access(file, Direction::write, data, true), ErrorKind::none);
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::io);
    });
}

TEST(DeferredOpen, ExplainSaysHowManyRanksOpenedTheFile) {
    const Folder folder;
    OpenCall call = call_of(folder.file("data"), kCreate, promised_with({{"cb_nodes", "2"}}));
    std::string said;
    call.explain = call.explain_all = true;
    call.narrate = [&](const std::string& text) { said += text; };
    on_file({8, 4}, call, [](File& file, Rank rank) {
        auto data = bytes_of(rank, 10);
        if (rank == 7) {
            EXPECT_EQ(access(file, Direction::write, data, false), ErrorKind::none);
        }
    });
    EXPECT_NE(said.find("data: open on 2 of 8 ranks; the others open it when they need it (hint "
                        "romio_no_indep_rw)\n"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("opens 3 times\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace oratorio::test::deferred_open_test
