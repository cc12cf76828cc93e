// SPDX-License-Identifier: BSD-3-Clause
// The exact cost of opening and closing a file: system calls, collectives and messages of each
// rank. The linker redirects the library's system calls to this file (--wrap).
#include <fcntl.h>
#include <sys/vfs.h>

#include <bit>
#include <cerrno>
#include <cstdarg>

#include "sim/file_ranks.hpp"
#include "sim/presence.hpp"

namespace oratorio::test {
namespace {

/// Counts of one rank's system calls.
struct Calls {
    int opens = 0;
    int asks = 0;   ///< calls of fstat, statfs, fstatfs and statx
    int locks = 0;  ///< locks taken, released or queried
    bool operator==(const Calls&) const = default;
};

void PrintTo(const Calls& calls, std::ostream* out) {
    *out << calls.opens << " opens, " << calls.asks << " asks, " << calls.locks << " locks";
}

struct Watched {
    Calls calls = {};
    int open_errno = 0;  ///< errno with which open fails; 0: it does not
};
thread_local Watched* watched = nullptr;  ///< state of the rank that runs in this thread

struct Collectives {
    int reductions = 0;
    int broadcasts = 0;
    int gathers = 0;
    bool operator==(const Collectives&) const = default;
};

void PrintTo(const Collectives& all, std::ostream* out) {
    *out << all.reductions << " reductions, " << all.broadcasts << " broadcasts, " << all.gathers
         << " gathers";
}

class Counting final : public Lent {
  public:
    Counting(Transport& owner, Collectives& counts) : Lent(owner), counts_(counts) {}
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        ++counts_.reductions;
        return Lent::reduce(values, op);
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        ++counts_.gathers;
        return Lent::gather(mine, all);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        ++counts_.broadcasts;
        return Lent::broadcast(root, data);
    }

  private:
    Collectives& counts_;
};

struct RankCounts {
    Calls open;
    Calls close;
    Collectives opening;
    Collectives closing;
    ErrorKind result = ErrorKind::none;
};

struct Job {
    int ranks = 1;
    int ranks_per_node = 0;  ///< 0: all ranks are on one node
    Rank refused = -1;       ///< this rank's open(2) fails with EACCES
};

struct Counted {
    std::vector<RankCounts> ranks;
    std::vector<SimCounters> messages;

    [[nodiscard]] int opens() const {
        int sum = 0;
        for (const RankCounts& one : ranks) sum += one.open.opens;
        return sum;
    }
};

Counted count(const Job& job, const OpenCall& call) {
    Counted counted;
    counted.ranks.resize(static_cast<std::size_t>(job.ranks));
    SimOptions options;
    options.ranks = job.ranks;
    options.ranks_per_node = job.ranks_per_node;
    options.switch_percent = 1;
    options.idle_limit = 100'000'000;
    const auto report = run_ranks(options, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        RankCounts& mine = counted.ranks[static_cast<std::size_t>(rank)];
        Collectives collectives;
        auto workspace =
            std::make_shared<Workspace>(std::make_unique<Counting>(transport, collectives));
        Watched here{.open_errno = rank == job.refused ? EACCES : 0};
        watched = &here;
        auto file = File::open(workspace, call);
        mine.open = std::exchange(here.calls, {});
        mine.opening = std::exchange(collectives, {});
        mine.result = kind_of(file);
        if (file) mine.result = kind_of((*file)->close());
        mine.close = here.calls;
        mine.closing = collectives;
        watched = nullptr;
    });
    counted.messages = report.counters;
    return counted;
}

std::string name_of(const testing::TestParamInfo<Job>& job) {
    const auto [ranks, ranks_per_node, refused] = job.param;
    return std::to_string(ranks) + "Ranks" +
           (ranks_per_node > 0 ? std::to_string(ranks_per_node) + "OnEachNode" : "OnOneNode");
}

const Job kJobs[] = {{1, 0},   {2, 0},    {2, 1},   {64, 0},   {64, 16},
                     {96, 24}, {256, 16}, {256, 1}, {1024, 64}};

class OpenCounts : public testing::TestWithParam<Job> {};

TEST_P(OpenCounts, TheFirstRankOfANodeQueriesForAll) {
    const Job job = GetParam();
    const Folder folder;
    const Counted counted = count(job, call_of(folder.file("data"), kCreate));
    const int node = job.ranks_per_node > 0 ? job.ranks_per_node : job.ranks;
    for (Rank rank = 0; rank < job.ranks; ++rank) {
        const RankCounts& one = counted.ranks[static_cast<std::size_t>(rank)];
        SCOPED_TRACE("rank " + std::to_string(rank));
        ASSERT_EQ(one.result, ErrorKind::none);
        // Rank 0 asks for the file system of the path and, because no file exists yet, of its
        // folder, and then for the open file's file system, kind and size. It takes one lock and
        // queries other processes' locks once.
        if (rank == 0) {
            EXPECT_EQ(one.open, (Calls{.opens = 1, .asks = 5, .locks = 2}));
        } else if (rank % node == 0) {
            EXPECT_EQ(one.open, (Calls{.opens = 1, .asks = 3, .locks = 1}));
        } else {
            EXPECT_EQ(one.open, (Calls{.opens = 1}));
        }
        EXPECT_EQ(one.close, Calls{});
    }
}

TEST_P(OpenCounts, CollectivesPerRankDoNotDependOnTheNumberOfRanks) {
    const Job job = GetParam();
    const Folder folder;
    const Counted counted = count(job, call_of(folder.file("data"), kCreate));
    const bool shown_for_others = job.ranks > 1 && job.ranks_per_node != 1;
    for (const RankCounts& one : counted.ranks) {
        // The three reductions compare the modes, compare the hints, and combine the results. The
        // two broadcasts carry the lengths of rank 0's hints, and its results.
        EXPECT_EQ(one.opening, (Collectives{.reductions = 3, .broadcasts = 2}));
        EXPECT_EQ(one.closing, (Collectives{.reductions = shown_for_others ? 2 : 1}));
    }
}

TEST_P(OpenCounts, MessagesOfARankAreNoMoreThanTheLogarithmOfThoseOnItsNode) {
    const Job job = GetParam();
    const Folder folder;
    const Counted counted = count(job, call_of(folder.file("data"), kCreate));
    const bool several = job.ranks_per_node > 0;
    const auto node = static_cast<unsigned>(several ? job.ranks_per_node : job.ranks);
    std::uint64_t sum = 0;
    for (const SimCounters& one : counted.messages) {
        EXPECT_LE(one.messages, static_cast<std::uint64_t>(std::bit_width(node - 1)));
        sum += one.messages;
    }
    // Each rank that is not the first of its node gets one message, except on rank 0's node, where
    // the ranks learn the results from the broadcast to all ranks.
    const auto beside = several ? job.ranks - job.ranks_per_node : 0;
    const auto first = several ? job.ranks / job.ranks_per_node - 1 : 0;
    EXPECT_EQ(sum, static_cast<std::uint64_t>(beside - first));
}

TEST_P(OpenCounts, AFileThatIsNotThereIsLookedForOnce) {
    const Job job = GetParam();
    const Folder folder;
    const Counted counted = count(job, call_of(folder.file("gone"), kReadWrite));
    EXPECT_EQ(counted.opens(), 1);
    for (const RankCounts& one : counted.ranks) EXPECT_EQ(one.result, ErrorKind::no_such_file);
}

TEST_P(OpenCounts, OneRankLearnsThatAFileIsThereAlready) {
    const Job job = GetParam();
    const Folder folder;
    AccessMode mode = kCreate;
    mode.exclusive = true;
    const Counted counted = count(job, call_of(folder.make("data", "content"), mode));
    EXPECT_EQ(counted.opens(), 1);
    for (const RankCounts& one : counted.ranks) EXPECT_EQ(one.result, ErrorKind::file_exists);
    EXPECT_EQ(folder.read("data"), "content");
}

TEST_P(OpenCounts, WithPromisedCollectiveAccessOnlyAggregatorsOpenTheFile) {
    const Job job = GetParam();
    const Folder folder;
    const Counted counted =
        count(job, call_of(folder.file("data"), kCreate,
                           {{"romio_no_indep_rw", "true"}, {"cb_config_list", "*:2"}}));
    const int node = job.ranks_per_node > 0 ? job.ranks_per_node : job.ranks;
    EXPECT_EQ(counted.opens(), job.ranks / node * std::min(node, 2));
    for (Rank rank = 0; rank < job.ranks; ++rank) {
        const auto place = static_cast<std::size_t>(rank);
        const RankCounts& one = counted.ranks[place];
        SCOPED_TRACE("rank " + std::to_string(rank));
        ASSERT_EQ(one.result, ErrorKind::none);
        if (rank == 0) {
            EXPECT_EQ(one.open, (Calls{.opens = 1, .asks = 5, .locks = 2}));
        } else if (one.open.opens > 0) {
            EXPECT_EQ(one.open, (Calls{.opens = 1, .asks = 3, .locks = 1}));
        } else {
            EXPECT_EQ(one.open, Calls{});
        }
        EXPECT_EQ(one.close, Calls{});
        // The text of the hints takes one more broadcast.
        EXPECT_EQ(one.opening, (Collectives{.reductions = 3, .broadcasts = 3}));
        EXPECT_EQ(one.closing, Collectives{.reductions = 1});
        EXPECT_EQ(counted.messages[place].messages, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(Jobs, OpenCounts, testing::ValuesIn(kJobs), name_of);

TEST(OpenHints, AskingForALayoutCostsNothingOnAFileSystemWithoutStripes) {
    const Folder folder;
    const OpenCall call = call_of(folder.file("d"), kCreate, {{"oratorio_striping", "auto"}});
    const Counted counted = count({.ranks = 2, .ranks_per_node = 1}, call);
    EXPECT_EQ(counted.ranks[0].open, (Calls{.opens = 1, .asks = 5, .locks = 2}));
    EXPECT_EQ(counted.ranks[1].open, (Calls{.opens = 1, .asks = 3, .locks = 1}));
}

TEST(OpenErrors, IfTheFirstRankOfANodeFailsTheOthersDoNotTry) {
    const Folder folder;
    const Counted counted =
        count({.ranks = 12, .ranks_per_node = 4, .refused = 4}, call_of(folder.file("d"), kCreate));
    EXPECT_EQ(counted.opens(), 9);
    for (const RankCounts& one : counted.ranks) EXPECT_EQ(one.result, ErrorKind::access);
}

TEST(OpenErrors, OneThatIsRefusedIsAnErrorOfAll) {
    const Folder folder;
    for (const Rank refused : {0, 1, 5, 11}) {
        const Counted counted = count({.ranks = 12, .ranks_per_node = 4, .refused = refused},
                                      call_of(folder.file("d"), kCreate));
        EXPECT_EQ(counted.opens(), refused == 0 ? 1 : 12);
        for (const RankCounts& one : counted.ranks) EXPECT_EQ(one.result, ErrorKind::access);
    }
}

/// Other processes see the file as open until the last rank of the node closes it.
TEST(OpenPresence, LastsUntilAllRanksCloseTheFile) {
    const Folder folder;
    const std::string path = folder.file("data");
    with_file(3, call_of(path, kCreate), [&](File& file, Rank rank) {
        if (rank != 2) return;
        for (int i = 0; i < 1000; ++i) file.transport().idle();
        EXPECT_TRUE(is_shown(path));
    });
    EXPECT_FALSE(is_shown(path));
}

}  // namespace
}  // namespace oratorio::test

// NOLINTBEGIN(bugprone-reserved-identifier)
using oratorio::test::watched;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : mode_t{};
    va_end(more);
    if (watched != nullptr) ++watched->calls.opens;
    if (watched != nullptr && watched->open_errno != 0) {
        errno = watched->open_errno;
        return -1;
    }
    return __real_open(path, flags, mode);
}

int __real_fcntl(int descriptor, int command, ...);
int __wrap_fcntl(int descriptor, int command, ...) {
    va_list more;
    va_start(more, command);
    void* const argument = va_arg(more, void*);
    va_end(more);
    if (watched != nullptr) ++watched->calls.locks;
    return __real_fcntl(descriptor, command, argument);
}

int __real_fstat(int descriptor, struct stat* status);
int __wrap_fstat(int descriptor, struct stat* status) {
    if (watched != nullptr) ++watched->calls.asks;
    return __real_fstat(descriptor, status);
}

int __real_statx(int descriptor, const char* path, int flags, unsigned mask, struct statx* status);
int __wrap_statx(int descriptor, const char* path, int flags, unsigned mask, struct statx* status) {
    if (watched != nullptr) ++watched->calls.asks;
    return __real_statx(descriptor, path, flags, mask, status);
}

int __real_statfs(const char* path, struct statfs* facts);
int __wrap_statfs(const char* path, struct statfs* facts) {
    if (watched != nullptr) ++watched->calls.asks;
    return __real_statfs(path, facts);
}

int __real_fstatfs(int descriptor, struct statfs* facts);
int __wrap_fstatfs(int descriptor, struct statfs* facts) {
    if (watched != nullptr) ++watched->calls.asks;
    return __real_fstatfs(descriptor, facts);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
