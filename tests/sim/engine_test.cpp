// SPDX-License-Identifier: BSD-3-Clause
// Tests of the engine with all methods, over simulated transports and stores. Every byte is checked
// against the oracle, with and without faults.
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "plan/methods.hpp"
#include "sim/hearing.hpp"
#include "store/lazy_open.hpp"
#include "support/method_names.hpp"
#include "support/rank_file.hpp"
#include "support/same_bytes.hpp"
#include "support/watched_prefetch.hpp"

namespace oratorio::test {
namespace {

/// The results of all ranks in one access.
struct Outcomes {
    std::vector<Outcome> of;
    std::vector<Stats> stats;
};

struct Setting {
    FlatTerms options;
    MemoryStoreOptions store;
    SimOptions sim;
    /// If not empty, all ranks open the file lazily, and these ranks fail to open it.
    std::set<Rank> refused = {};
};

/// Returns true if the ranks of this program are on several nodes: in every second program, but
/// with a method that needs a single node only in every fourth. On several nodes such a method is
/// not available, so that another replaces it.
bool is_on_several_nodes(const Setting& setting, std::uint64_t seed) {
    const Method* const method = setting.options.method;
    const bool of_node = method != nullptr && method->on_node();
    return of_node ? seed % 4 == 3 : seed % 2 == 1;
}

/// Runs one access of all ranks, collective or not, each with a store of its own on the disk.
Outcomes run_case(Case& made, Direction direction, MemoryDisk& disk, const Setting& setting,
                  bool collective = true) {
    Outcomes outcomes{std::vector<Outcome>(made.parts.size()),
                      std::vector<Stats>(made.parts.size())};
    SimOptions sim = setting.sim;
    sim.ranks = made.ranks;
    sim.seed = made.seed;
    const FlatTerms options = agents_among(made.ranks, setting.options);
    if (is_on_several_nodes(setting, made.seed)) sim.node_of = uneven_nodes(made.ranks, made.seed);
    run_ranks(sim, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.topology().rank);
        MemoryStoreOptions store_options = setting.store;
        store_options.seed = made.seed * 100 + rank;
        WatchedPrefetch prefetch(made.seed);
        store_options.prefetch = &prefetch;
        MemoryStore own(disk, store_options, [&] { transport.idle(); });
        const auto late = open_lazily([&]() -> Result<std::unique_ptr<Store>> {
            if (setting.refused.contains(transport.topology().rank))
                return Error::make(ErrorKind::access, "opened late", EACCES);
            return std::unique_ptr<Store>(
                std::make_unique<MemoryStore>(disk, store_options, [&] { transport.idle(); }));
        });
        const bool opens_late = !setting.refused.empty() || (rank > 0 && made.seed % 3 == 1);
        Store& store = opens_late ? *late : own;
        RankPart& part = made.parts[rank];
        part.access.direction = direction;
        part.access.buffer = part.memory.empty() ? nullptr : part.base();
        RankFile file(transport, store, options, outcomes.stats[rank], {.shares_memory = true});
        outcomes.of[rank] = file.access(part.access, collective);
        EXPECT_TRUE(prefetch.outstanding.empty() && prefetch.strangers == 0);
    });
    return outcomes;
}

void fill_disk(MemoryDisk& disk, Offset from, Offset to) {
    std::vector<std::byte> old;
    for (Offset at = from; at < to; ++at) old.push_back(old_byte(at));
    disk.write(from, old);
}

/// Expects that the hull of all data, and a margin around it, holds the bytes that were written,
/// and old bytes everywhere else. Unless `all_written`, each byte that was to be written may be old
/// too.
void expect_file(const Case& made, const MemoryDisk& disk, Extent old, bool all_written) {
    const Extent data = hull_of(made);
    const Extent look = hull({std::max<Offset>(0, data.begin - 100), data.end + 100}, data);
    std::vector<std::byte> before(static_cast<std::size_t>(look.length()));
    const Extent there = intersect(look, old);
    for (Offset at = there.begin; at < there.end; ++at)
        before[static_cast<std::size_t>(at - look.begin)] = old_byte(at);
    std::vector<std::byte> written = before;
    for (int rank = 0; rank < made.ranks; ++rank) {
        const auto& bytes = made.parts[static_cast<std::size_t>(rank)].file_bytes;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            written[static_cast<std::size_t>(bytes[i] - look.begin)] = written_byte(rank, i);
    }
    const auto contents = disk.contents(look);
    if (all_written) {
        ASSERT_TRUE(same_bytes(contents, written)) << "from " << look.begin;
    } else if (!same_bytes(contents, written)) {
        for (std::size_t i = 0; i < contents.size(); ++i)
            ASSERT_TRUE(contents[i] == written[i] || contents[i] == before[i])
                << (written[i] == before[i] ? "a byte nobody wrote changed, at " : "at ")
                << look.begin + static_cast<Offset>(i);
    }
    if (all_written && !data.empty()) {
        EXPECT_EQ(disk.size(), std::max(data.end, old.end));
    }
}

std::string trace(const Case& made, const std::string& method) {
    return "method " + method + ", ranks " + std::to_string(made.ranks) + ", seed " +
           std::to_string(made.seed);
}

class EngineOfMethod : public testing::TestWithParam<std::string> {};

constexpr int kRankCounts[] = {1, 2, 3, 4, 7, 8};

TEST_P(EngineOfMethod, WritesEveryByteAndNoOther) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        for (const int ranks : kRankCounts) {
            Case made = make_case(seed, ranks, seed % 2 == 0);
            SCOPED_TRACE(trace(made, GetParam()));
            fill_memory(made);
            MemoryDisk disk;
            const Extent data = hull_of(made);
            // There are three cases: no file yet, a file that ends inside the data, and a file that
            // holds all of the data's range.
            const Extent old =
                seed % 3 == 0 || data.empty()
                    ? Extent{}
                    : Extent{0, data.begin + static_cast<Bytes>(seed % 3) * data.length() / 2 + 1};
            const Extent kept{std::max<Offset>(0, data.begin - 200), old.end};
            if (!old.empty()) fill_disk(disk, kept.begin, kept.end);
            Setting setting{options_for(GetParam(), seed), {}, {}, {}};
            setting.store.asynchronous = seed % 4 < 2;
            setting.store.short_percent = seed % 5 == 0 ? 30 : 0;
            setting.store.interrupted_percent = seed % 5 == 1 ? 30 : 0;
            const Outcomes outcomes = run_case(made, Direction::write, disk, setting);
            for (std::size_t rank = 0; rank < outcomes.of.size(); ++rank) {
                ASSERT_EQ(outcomes.of[rank].error.kind, ErrorKind::none)
                    << describe(outcomes.of[rank].error, "file");
                ASSERT_EQ(outcomes.of[rank].bytes,
                          static_cast<Bytes>(made.parts[rank].file_bytes.size()));
            }
            ASSERT_NO_FATAL_FAILURE(expect_file(made, disk, old.empty() ? old : kept, true));
        }
    }
}

TEST_P(EngineOfMethod, ReadsEveryByteUpToTheEndOfTheFile) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        for (const int ranks : kRankCounts) {
            Case made = make_case(seed, ranks, seed % 2 == 0);
            SCOPED_TRACE(trace(made, GetParam()));
            MemoryDisk disk;
            const Extent data = hull_of(made);
            const Offset end = seed % 3 == 0 ? data.begin + data.length() / 2 : data.end + 10;
            fill_disk(disk, std::max<Offset>(0, data.begin - 5000), end);
            Setting setting{options_for(GetParam(), seed), {}, {}, {}};
            setting.store.asynchronous = seed % 4 < 2;
            setting.store.short_percent = seed % 5 == 0 ? 30 : 0;
            const Outcomes outcomes = run_case(made, Direction::read, disk, setting);
            for (std::size_t rank = 0; rank < outcomes.of.size(); ++rank) {
                RankPart& part = made.parts[rank];
                ASSERT_EQ(outcomes.of[rank].error.kind, ErrorKind::none);
                Bytes there = 0;
                std::vector<std::byte> wanted(part.memory.size(), kUntouched);
                for (std::size_t i = 0; i < part.file_bytes.size(); ++i) {
                    if (part.file_bytes[i] >= end) continue;
                    ++there;
                    wanted[static_cast<std::size_t>(part.memory_bytes[i] - part.lowest)] =
                        old_byte(part.file_bytes[i]);
                }
                ASSERT_EQ(outcomes.of[rank].bytes, there);
                ASSERT_TRUE(same_bytes(part.memory, wanted)) << "rank " << rank;
            }
        }
    }
}

/// Returns how many of the bytes that the rank writes are on the disk.
Bytes bytes_on_disk(const RankPart& part, const MemoryDisk& disk, Rank rank) {
    Bytes there = 0;
    const Extent hull = part.file_hull();
    const auto file = disk.contents(hull);
    for (std::size_t i = 0; i < part.file_bytes.size(); ++i) {
        const auto at = static_cast<std::size_t>(part.file_bytes[i] - hull.begin);
        if (file[at] == written_byte(rank, i)) ++there;
    }
    return there;
}

TEST_P(EngineOfMethod, AFullDiskIsTheSameErrorOnAllAffectedRanksWithTrueCounts) {
    int failed = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        for (const int ranks : kRankCounts) {
            Case made = make_case(seed, ranks, seed % 2 == 0);
            SCOPED_TRACE(trace(made, GetParam()));
            fill_memory(made);
            const Extent data = hull_of(made);
            MemoryDisk disk(data.begin + data.length() * static_cast<Bytes>(seed % 4) / 4);
            Setting setting{options_for(GetParam(), seed), {}, {}, {}};
            setting.store.asynchronous = seed % 2 == 0;
            const Outcomes outcomes = run_case(made, Direction::write, disk, setting);
            if (!data.empty()) ++failed;
            ASSERT_NO_FATAL_FAILURE(
                expect_heard(made, setting.options, Direction::write, outcomes.of,
                             data.empty() ? ErrorKind::none : ErrorKind::no_space));
            for (std::size_t rank = 0; rank < outcomes.of.size(); ++rank) {
                const Bytes there = bytes_on_disk(made.parts[rank], disk, static_cast<Rank>(rank));
                // An asynchronous store may have written parts after the one that failed.
                if (setting.store.asynchronous) {
                    ASSERT_LE(outcomes.of[rank].bytes, there);
                } else {
                    ASSERT_EQ(outcomes.of[rank].bytes, there) << "rank " << rank;
                }
            }
            ASSERT_NO_FATAL_FAILURE(expect_file(made, disk, {}, false));
        }
    }
    EXPECT_GT(failed, 15);
}

TEST_P(EngineOfMethod, AFailedReadReachesAllAffectedRanksWithoutAHang) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        for (const int ranks : kRankCounts) {
            Case made = make_case(seed, ranks, false);
            const Extent data = hull_of(made);
            if (data.empty()) continue;
            SCOPED_TRACE(trace(made, GetParam()));
            MemoryDisk disk;
            fill_disk(disk, std::max<Offset>(0, data.begin - 5000), data.end);
            Setting setting{options_for(GetParam(), seed), {}, {}, {}};
            // The bad byte must be one that a rank wants, so that some read fails.
            Offset bad = data.begin;
            for (const RankPart& part : made.parts) {
                if (!part.file_bytes.empty()) bad = part.file_bytes[part.file_bytes.size() / 2];
            }
            setting.store.bad_reads = {bad, bad + 1};
            const Outcomes outcomes = run_case(made, Direction::read, disk, setting);
            ASSERT_NO_FATAL_FAILURE(
                expect_heard(made, setting.options, Direction::read, outcomes.of, ErrorKind::io));
            for (const Outcome& outcome : outcomes.of)
                ASSERT_TRUE(outcome.error.kind == ErrorKind::none ||
                            outcome.error.system_errno == EIO);
        }
    }
}

TEST_P(EngineOfMethod, AFailingHoleReadKeepsTheHoles) {
    for (std::uint64_t seed = 2; seed <= 10; seed += 2) {
        Case made = make_case(seed, 4, true);
        const Extent data = hull_of(made);
        if (data.empty()) continue;
        SCOPED_TRACE(trace(made, GetParam()));
        fill_memory(made);
        MemoryDisk disk;
        const Extent old{std::max<Offset>(0, data.begin - 200), data.end + 50};
        fill_disk(disk, old.begin, old.end);
        Setting setting{options_for(GetParam(), seed), {}, {}, {}};
        setting.store.bad_reads = {data.begin + data.length() / 2,
                                   data.begin + data.length() / 2 + 1};
        const Outcomes outcomes = run_case(made, Direction::write, disk, setting);
        const ErrorKind kind = failure_of(outcomes.of);
        ASSERT_NO_FATAL_FAILURE(
            expect_heard(made, setting.options, Direction::write, outcomes.of, kind));
        ASSERT_NO_FATAL_FAILURE(expect_file(made, disk, old, kind == ErrorKind::none));
    }
}

TEST_P(EngineOfMethod, AFailedLazyOpenIsAnErrorOnAllAffectedRanks) {
    bool failed = false;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Case made = make_case(seed, 4, true);
        SCOPED_TRACE(trace(made, GetParam()));
        fill_memory(made);
        MemoryDisk disk;
        Setting setting{options_for(GetParam(), seed), {}, {}, {static_cast<Rank>(seed % 4)}};
        const auto direction = seed % 3 == 0 ? Direction::read : Direction::write;
        const Outcomes outcomes = run_case(made, direction, disk, setting);
        const ErrorKind kind = failure_of(outcomes.of);
        ASSERT_NO_FATAL_FAILURE(expect_heard(made, setting.options, direction, outcomes.of, kind));
        ASSERT_TRUE(kind == ErrorKind::access || kind == ErrorKind::none) << "it needn't be open";
        failed = failed || kind == ErrorKind::access;
    }
    EXPECT_TRUE(failed);
}

TEST_P(EngineOfMethod, AnArgumentErrorOnOneRankDoesNotStopTheDataOfTheOthers) {
    Case made = make_case(5, 4, false);
    fill_memory(made);
    made.parts[1].access.refused = Error::make(ErrorKind::count, "negative count");
    made.parts[1].file_bytes.clear();
    MemoryDisk disk;
    const Outcomes outcomes =
        run_case(made, Direction::write, disk, {options_for(GetParam(), 5), {}, {}, {}});
    for (const Outcome& outcome : outcomes.of) {
        EXPECT_EQ(outcome.error.kind, ErrorKind::count);
        EXPECT_EQ(outcome.error.rank, 1);
    }
    EXPECT_EQ(outcomes.of[1].bytes, 0);
    expect_file(made, disk, {}, true);
}

TEST_P(EngineOfMethod, IndependentAccessesOfOneRankNeedNobodyElse) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Case made = make_case(seed, 3, true);
        SCOPED_TRACE(trace(made, GetParam()));
        fill_memory(made);
        MemoryDisk disk;
        FlatTerms options = options_for(GetParam(), seed);
        options.ds_write = Toggle::enable;
        const Outcomes outcomes =
            run_case(made, Direction::write, disk, {options, {}, {}, {}}, false);
        for (std::size_t rank = 0; rank < 3; ++rank) {
            ASSERT_EQ(outcomes.of[rank].error.kind, ErrorKind::none);
            ASSERT_EQ(outcomes.of[rank].bytes,
                      static_cast<Bytes>(made.parts[rank].file_bytes.size()));
        }
        ASSERT_NO_FATAL_FAILURE(expect_file(made, disk, {}, true));
    }
}

TEST_P(EngineOfMethod, AtomicWritesOfTheSameRangeLeaveOneRanksBytesWhole) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Case made = make_case(seed, 4, false);
        for (RankPart& part : made.parts) {
            const Bytes bytes = part.access.memory.size();
            part.access.file = {Shape::strided(Shape::run(8), 4, 16), 64, 0, Layout::unbounded};
            part.access.from = 0;
            part.file_bytes.clear();
            for (Bytes i = 0; i < bytes; ++i)
                part.file_bytes.push_back(offset_of_size(part.access.file, i));
        }
        fill_memory(made);
        MemoryDisk disk;
        FlatTerms options = options_for(GetParam(), seed);
        options.atomic = true;
        Setting setting{options, {}, {}, {}};
        setting.store.yields = true;  // lets other ranks write between two pieces of a rank
        const Outcomes outcomes = run_case(made, Direction::write, disk, setting);
        for (const Outcome& outcome : outcomes.of) ASSERT_EQ(outcome.error.kind, ErrorKind::none);
        // All bytes of the rank that writes last remain, so that where two ranks overlap, the data
        // of one of them is there as a whole.
        const auto file = disk.contents({0, hull_of(made).end});
        for (std::size_t a = 0; a < made.parts.size(); ++a) {
            for (std::size_t b = a + 1; b < made.parts.size(); ++b) {
                const std::size_t shared =
                    std::min(made.parts[a].file_bytes.size(), made.parts[b].file_bytes.size());
                bool any_of_a = false;
                bool any_of_b = false;
                for (std::size_t i = 0; i < shared; ++i) {
                    const std::byte is =
                        file[static_cast<std::size_t>(made.parts[a].file_bytes[i])];
                    any_of_a |= is == written_byte(static_cast<Rank>(a), i);
                    any_of_b |= is == written_byte(static_cast<Rank>(b), i);
                }
                EXPECT_FALSE(any_of_a && any_of_b)
                    << "torn between " << a << " and " << b << ", " << trace(made, GetParam());
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EngineOfMethod, testing::ValuesIn(method_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace oratorio::test
