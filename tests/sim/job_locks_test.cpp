// SPDX-License-Identifier: BSD-3-Clause
// Locks between nodes: which of them a handle takes. Where locks of the file system are visible on
// one node only, no byte may be lost (docs/internals/decisions/holes-and-locks.md).
#include "sim/cluster_ranks.hpp"

namespace oratorio::test::job_locks_test {
namespace {

constexpr Bytes kPiece = 4;
constexpr Bytes kPieces = 1000;
constexpr Bytes kTile = 2 * kPiece * kRanks;

/// Returns the view of a rank's pieces, each with a hole of the same length after it.
View pieces_of(Rank rank) {
    View view = View::bytes();
    view.file = {Shape::run(kPiece), kTile, 2 * kPiece * rank, Layout::unbounded};
    return view;
}

/// Runs a collective write with holes through `file`. While the write is under way, each rank fills
/// its holes with small writes through `beside`.
void write_and_fill_beside(File& file, File& beside, Rank rank) {
    EXPECT_EQ(kind_of(file.set_view(pieces_of(rank), {})), ErrorKind::none);
    std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece), std::byte{'n'});
    const auto started = file.start(call_for(Direction::write, mine, true));
    std::vector<std::byte> hole(static_cast<std::size_t>(kPiece), std::byte{'h'});
    for (Bytes i = 0; i < kPieces; ++i) {
        const Offset at = i * kTile + 2 * kPiece * rank + kPiece;
        const Outcome outcome = beside.access(
            call_for(Direction::write, hole, false, Positioning::explicit_offset, at));
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        file.progress(Mover::program);
    }
    EXPECT_EQ(file.finish(started).error.kind, ErrorKind::none);
}

std::string expected_pieces() {
    std::string text;
    for (Bytes i = 0; i < kPieces * kRanks; ++i) text += "nnnnhhhh";
    return text;
}

std::string text_of(const MemoryDisk& disk) {
    const auto bytes = disk.contents();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A second handle, of all ranks or of each rank alone, opened before the first handle or after it.
struct Second {
    bool self;
    bool earlier;
};

class SecondHandle : public testing::TestWithParam<Second> {};

TEST_P(SecondHandle, LosesNothingDuringACollectiveWriteWithHoles) {
    const auto [self, earlier] = GetParam();
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        std::uint64_t holes_read = 0;
        on_cluster(cluster, job, seed, [&](Process& process) {
            const HintMap hints{{"oratorio_method", "two_phase"}, {"cb_nodes", "4"}};
            OpenResult other = earlier ? process.open(self) : OpenResult(Error{});
            auto file = process.open(false, kCreate, hints);
            if (!earlier) other = process.open(self);
            ASSERT_TRUE(file.ok() && other.ok());
            write_and_fill_beside(**file, **other, process.rank());
            holes_read += (*file)->stats().hole_reads;
            EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        EXPECT_EQ(text_of(cluster.disk), expected_pieces());
        EXPECT_EQ(holes_read > 0, !earlier);
        // Only the handle that was opened first may fill holes. It takes the job's locks if it is a
        // handle of all ranks.
        EXPECT_EQ(job.locks > 0, !earlier || !self);
    }
}

std::string second_name(const testing::TestParamInfo<Second>& second) {
    return std::string(second.param.self ? "OfEachRank" : "OfAllRanks") +
           (second.param.earlier ? "OpenedEarlier" : "OpenedLater");
}

INSTANTIATE_TEST_SUITE_P(Handles, SecondHandle,
                         testing::Values(Second{false, false}, Second{false, true},
                                         Second{true, false}, Second{true, true}),
                         second_name);

/// Opens the file on all ranks, but as if they were only some of the job's processes. The other
/// processes cannot see the handle, so it must not fill holes.
TEST(JobLocks, AHandleOfSomeOfTheJobsProcessesFillsNoHoles) {
    Cluster cluster;
    SimLocks job;
    on_cluster(cluster, job, 1, [&](Process& process) {
        process.covers_job = false;
        auto file = process.open(false, kCreate, {{"oratorio_method", "two_phase"}});
        auto other = process.open(true);
        ASSERT_TRUE(file.ok() && other.ok());
        write_and_fill_beside(**file, **other, process.rank());
        EXPECT_EQ((*file)->stats().hole_reads, 0U);
        EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(text_of(cluster.disk), expected_pieces());
}

/// Rank 0 cannot see the handle that the last rank has opened on another node.
TEST(JobLocks, AHandleFillsNoHolesIfAnotherNodeHadTheFileOpen) {
    Cluster cluster;
    SimLocks job;
    on_cluster(cluster, job, 1, [&](Process& process) {
        OpenResult other = Error{};
        if (process.rank() == kRanks - 1) other = process.open(true);
        auto file = process.open(false, kCreate, {{"oratorio_method", "two_phase"}});
        if (!other.ok()) other = process.open(true);
        ASSERT_TRUE(file.ok() && other.ok());
        write_and_fill_beside(**file, **other, process.rank());
        EXPECT_EQ((*file)->stats().hole_reads, 0U);
        EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(text_of(cluster.disk), expected_pieces());
}

/// If only rank 0's node takes part in a lazy open, the open cannot test whether locks are visible
/// on all nodes. This must not be remembered as a test that failed.
TEST(JobLocks, AnOpenThatNoOtherNodeTakesPartInLeavesTheMountUntested) {
    Cluster cluster;
    cluster.locks_are_common = true;
    SimLocks job;
    int taken_by_first = 0;
    on_cluster(cluster, job, 1, [&](Process& process) {
        const HintMap deferred{{"romio_no_indep_rw", "true"}, {"cb_nodes", "1"}};
        for (const HintMap& hints : {deferred, HintMap{}}) {
            const bool first = !hints.empty();
            auto file = process.open(false, kCreate, hints);
            ASSERT_TRUE(file.ok());
            // Rank 0 queries other handles' locks at each open. At the second open, the three other
            // nodes also query rank 0's lock.
            EXPECT_EQ(cluster.probes, first ? 1 : 1 + 1 + 3);
            EXPECT_EQ(kind_of((*file)->set_atomicity(true)), ErrorKind::none);
            std::vector<std::byte> mine(static_cast<std::size_t>(kPiece), std::byte{'a'});
            EXPECT_EQ((*file)->access(call_for(Direction::write, mine, true)).error.kind,
                      ErrorKind::none);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            if (first) taken_by_first = job.locks;
        }
    });
    EXPECT_GT(taken_by_first, 0);
    EXPECT_EQ(job.locks, taken_by_first);
}

/// The open of the second handle can't test locks, and no earlier test is remembered. The first
/// handle fills holes under locks of the file system.
TEST(JobLocks, AHandleThatCouldNotTestLocksLosesNothingToOneThatFillsHoles) {
    const HintMap deferred{{"romio_no_indep_rw", "true"}, {"cb_nodes", "1"}};
    for (const HintMap& hints : {deferred, HintMap{{"oratorio_locks", "job"}}}) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            SCOPED_TRACE(seed);
            Cluster cluster;
            cluster.locks_are_common = true;
            cluster.device = 0;
            SimLocks job;
            std::uint64_t holes_read = 0;
            on_cluster(cluster, job, seed, [&](Process& process) {
                auto file = process.open(false, kCreate, {{"oratorio_method", "two_phase"}});
                auto other = process.open(false, kCreate, hints);
                ASSERT_TRUE(file.ok() && other.ok());
                write_and_fill_beside(**file, **other, process.rank());
                holes_read += (*file)->stats().hole_reads;
                EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
                EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            });
            EXPECT_EQ(text_of(cluster.disk), expected_pieces());
            EXPECT_GT(holes_read, 0U);
        }
    }
}

/// The first handle fills holes under locks of the job, so the second one needs them, whatever its
/// hint says.
TEST(JobLocks, AHintForFileLocksLosesNothingToAHandleThatFillsHolesUnderTheJobs) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        std::uint64_t holes_read = 0;
        on_cluster(cluster, job, seed, [&](Process& process) {
            auto file = process.open(false, kCreate, {{"oratorio_method", "two_phase"}});
            auto other = process.open(false, kCreate, {{"oratorio_locks", "file"}});
            ASSERT_TRUE(file.ok() && other.ok());
            write_and_fill_beside(**file, **other, process.rank());
            holes_read += (*file)->stats().hole_reads;
            EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        EXPECT_EQ(text_of(cluster.disk), expected_pieces());
        EXPECT_GT(holes_read, 0U);
    }
}

/// Returns a view of pieces that are as long as the holes after them; the first is at `begin`.
View every_other_piece(Offset begin) {
    View view = View::bytes();
    view.file = {Shape::run(kPiece), 2 * kPiece, begin, Layout::unbounded};
    return view;
}

/// The last rank may not read the file, so it opens the file late and for writing only, and can't
/// show other handles that it may write. Before it writes, all other ranks but one close the
/// handle. The remaining rank opens another handle and fills holes through that one.
TEST(JobLocks, ARankThatOpensLateAndCantReadLosesNothingToAHandleThatFillsHoles) {
    constexpr AccessMode kWriteOnly{.write_only = true, .create = true};
    const HintMap deferred{{"romio_no_indep_rw", "true"}, {"cb_nodes", "1"}};
    for (const char* method : {"auto", "sieve"}) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            SCOPED_TRACE(std::string(method) + " " + std::to_string(seed));
            Cluster cluster;
            cluster.locks_are_common = true;
            cluster.without_reading = kRanks - 1;
            SimLocks job;
            std::uint64_t holes_read = 0;
            const auto fill_beside = [&](Process& process) {
                auto beside = process.open(true, kCreate, {{"oratorio_method", "two_phase"}});
                ASSERT_TRUE(beside.ok());
                EXPECT_EQ(kind_of((*beside)->set_view(every_other_piece(0), {})), ErrorKind::none);
                std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece),
                                            std::byte{'n'});
                EXPECT_EQ((*beside)->access(call_for(Direction::write, mine, true)).error.kind,
                          ErrorKind::none);
                holes_read += (*beside)->stats().hole_reads;
                EXPECT_EQ(kind_of((*beside)->close()), ErrorKind::none);
            };
            const auto write_late = [&](File& file) {
                std::vector<std::byte> hole(static_cast<std::size_t>(10 * kPiece), std::byte{'h'});
                for (Bytes i = 0; i < kPieces / 10; ++i)
                    EXPECT_EQ(file.access(call_for(Direction::write, hole, false)).error.kind,
                              ErrorKind::none);
            };
            HintMap hints = deferred;
            hints["oratorio_method"] = method;
            on_cluster(
                cluster, job, seed,
                [&](Process& process) {
                    auto file = process.open(false, kWriteOnly, hints);
                    ASSERT_TRUE(file.ok());
                    const bool last = process.rank() == kRanks - 1;
                    EXPECT_EQ(kind_of((*file)->set_view(every_other_piece(last ? kPiece : 0), {})),
                              ErrorKind::none);
                    if (process.rank() >= kRanks - 2) process.rest();
                    if (process.rank() == kRanks - 2) fill_beside(process);
                    if (last) write_late(**file);
                    EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
                },
                kRanks);
            std::string expected;
            for (Bytes i = 0; i < kPieces; ++i) expected += "nnnnhhhh";
            EXPECT_EQ(text_of(cluster.disk), expected);
            EXPECT_GT(holes_read, 0U);
        }
    }
}

TEST(JobLocks, SievedWritesOfAllNodesKeepEachOthersBytes) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        std::uint64_t holes_read = 0;
        on_cluster(cluster, job, seed, [&](Process& process) {
            auto file = process.open(false, kCreate, {{"oratorio_method", "sieve"}});
            ASSERT_TRUE(file.ok());
            View view = View::bytes();
            view.file = {Shape::run(kPiece), kPiece * kRanks, kPiece * process.rank(),
                         Layout::unbounded};
            EXPECT_EQ(kind_of((*file)->set_view(view, {})), ErrorKind::none);
            std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece),
                                        std::byte(1 + process.rank()));
            EXPECT_EQ((*file)->access(call_for(Direction::write, mine, false)).error.kind,
                      ErrorKind::none);
            holes_read += (*file)->stats().hole_reads;
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        std::string expected;
        for (Bytes i = 0; i < kPieces; ++i)
            for (int rank = 0; rank < kRanks; ++rank)
                expected += std::string(static_cast<std::size_t>(kPiece), char(1 + rank));
        EXPECT_EQ(text_of(cluster.disk), expected);
        EXPECT_GT(holes_read, 0U);
    }
}

/// Writes the same pieces on all ranks, in atomic mode.
void write_atomically(File& file, Rank rank, bool collective) {
    EXPECT_EQ(kind_of(file.set_atomicity(true)), ErrorKind::none);
    EXPECT_EQ(kind_of(file.set_view(pieces_of(0), {})), ErrorKind::none);
    std::vector<std::byte> mine(static_cast<std::size_t>(20 * kPiece), std::byte(1 + rank));
    EXPECT_EQ(file.access(call_for(Direction::write, mine, collective)).error.kind,
              ErrorKind::none);
}

TEST(JobLocks, AtomicWritesOfSeveralNodesAreNotMixed) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        on_cluster(cluster, job, seed, [&](Process& process) {
            auto file = process.open(false, kCreate);
            ASSERT_TRUE(file.ok());
            write_atomically(**file, process.rank(), seed % 2 == 0);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        const std::string text = text_of(cluster.disk);
        for (Bytes i = 1; i < 20; ++i)
            EXPECT_EQ(text[static_cast<std::size_t>(i * kTile)], text[0]);
        EXPECT_EQ(job.table.size(), 0U);
    }
}

TEST(JobLocks, VisibleLocksOfTheFileSystemAreUsedAndTestedOnce) {
    Cluster cluster;
    cluster.locks_are_common = true;
    SimLocks job;
    on_cluster(
        cluster, job, 1,
        [&](Process& process) {
            for (int i = 0; i < 3; ++i) {
                auto file = process.open(false);
                ASSERT_TRUE(file.ok());
                write_atomically(**file, process.rank(), false);
                EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            }
        },
        2);
    EXPECT_EQ(job.locks, 0);
    EXPECT_EQ(job.offers, 0);
    // Rank 0 queries other handles' locks at each of the three opens. The other node's first rank
    // queries rank 0's lock once, and the result is remembered.
    EXPECT_EQ(cluster.probes, 3 + 1);
}

TEST(JobLocks, AnOpenSendsTheSameMessagesForAllKindsOfLocks) {
    for (const bool common : {true, false}) {
        for (const char* hint : {"file", "auto", "job"}) {
            SCOPED_TRACE(std::string(hint) + (common ? ", common" : ", of a node"));
            Cluster cluster;
            cluster.locks_are_common = common;
            SimLocks job;
            on_cluster(cluster, job, 1, [&](Process& process) {
                auto file = process.open(false, kCreate, {{"oratorio_locks", hint}});
                ASSERT_TRUE(file.ok());
                EXPECT_EQ(process.collectives, 6);  // a broadcast of the hint is one of them
                EXPECT_EQ(process.messages, 0);
                EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            });
        }
    }
}

// A 9p server locks the whole file for any range: an exclusive lock would wait forever for each
// handle that shows its presence by a shared one.
TEST(JobLocks, WhereALockHoldsTheWholeFileNoHandleTakesAnExclusiveOne) {
    constexpr long k9p = 0x01021997;
    for (const int per_node : {1, 2, kRanks}) {
        SCOPED_TRACE(per_node);
        Cluster cluster;
        cluster.locks_are_common = true;
        cluster.file_system = k9p;
        SimLocks job;
        on_cluster(
            cluster, job, 1,
            [&](Process& process) {
                auto file = process.open(false);
                auto alone = process.open(true);
                ASSERT_TRUE(file.ok() && alone.ok());
                write_atomically(**file, process.rank(), false);
                write_atomically(**alone, process.rank(), false);
                EXPECT_EQ(kind_of((*alone)->close()), ErrorKind::none);
                EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            },
            per_node);
        EXPECT_EQ(cluster.exclusive_locks, 0);
        EXPECT_EQ(job.locks, 2 * kRanks);
    }
}

TEST(JobLocks, AFileSystemWithoutLocksGetsTheJobs) {
    Cluster cluster;
    cluster.has_locks = false;
    SimLocks job;
    on_cluster(cluster, job, 1, [&](Process& process) {
        auto file = process.open(false);
        ASSERT_TRUE(file.ok());
        write_atomically(**file, process.rank(), true);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(job.locks, kRanks);
}

/// Opens and closes a file on all ranks. Returns the messages to the user.
std::string told_on_opening(Cluster& cluster, SimLocks& job, const HintMap& hints,
                            int ranks_per_node) {
    std::string told;
    on_cluster(
        cluster, job, 1,
        [&](Process& process) {
            auto file = process.open(false, kCreate, hints);
            ASSERT_TRUE(file.ok());
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            told += process.told;
        },
        ranks_per_node);
    return told;
}

TEST(JobLocks, TheUserIsWarnedThatNoLocksAreAvailableWhicheverWereChosen) {
    const std::string lacking =
        ", which are not available: atomic mode fails, and holes are never filled";
    const auto ends_with = [](const std::string& told, const std::string& end) {
        return told.find(end) != std::string::npos && told.find(end) + end.size() == told.size();
    };
    for (const int per_node : {1, kRanks}) {
        Cluster cluster;
        cluster.has_locks = false;
        SimLocks job;
        const HintMap hints = per_node == 1 ? HintMap{{"oratorio_locks", "file"}} : HintMap{};
        const std::string told = told_on_opening(cluster, job, hints, per_node);
        EXPECT_TRUE(ends_with(told, "; using the file system's locks" + lacking)) << told;
    }
    Cluster cluster;
    SimLocks job;
    job.refused = EMFILE;
    const std::string told = told_on_opening(cluster, job, {}, 1);
    EXPECT_TRUE(ends_with(told, "; using the job's locks" + lacking)) << told;
    Cluster good;
    EXPECT_EQ(told_on_opening(good, job, {}, kRanks), "");
}

TEST(JobLocks, TheHintDecides) {
    for (const char* hint : {"file", "job"}) {
        Cluster cluster;
        cluster.locks_are_common = true;
        SimLocks job;
        on_cluster(cluster, job, 1, [&](Process& process) {
            auto file = process.open(false, kCreate, {{"oratorio_locks", hint}});
            ASSERT_TRUE(file.ok());
            write_atomically(**file, process.rank(), true);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        EXPECT_EQ(job.locks, hint == std::string("job") ? kRanks : 0);
        EXPECT_EQ(cluster.probes, 1);
    }
}

TEST(JobLocks, WithoutAServiceAtomicModeFailsOnAllRanksAndNothingIsLost) {
    Cluster cluster;
    SimLocks job;
    job.refused = EMFILE;
    on_cluster(cluster, job, 1, [&](Process& process) {
        auto file = process.open(false, kCreate, {{"oratorio_method", "two_phase"}});
        auto other = process.open(true);
        ASSERT_TRUE(file.ok() && other.ok());
        write_and_fill_beside(**file, **other, process.rank());
        EXPECT_EQ((*file)->stats().hole_reads, 0U);
        EXPECT_EQ(kind_of((*file)->set_atomicity(true)), ErrorKind::none);
        std::vector<std::byte> mine(4);
        for (const bool collective : {true, false}) {
            const Outcome outcome = (*file)->access(call_for(Direction::write, mine, collective));
            EXPECT_EQ(outcome.error.kind, ErrorKind::unsupported_operation);
            EXPECT_EQ(outcome.error.system_errno, EMFILE);
        }
        EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(text_of(cluster.disk), expected_pieces());
}

TEST(JobLocks, AHandleOfOneRankFillsNoHolesWhileLocksAreUnknown) {
    Cluster cluster;
    SimLocks job;
    on_cluster(cluster, job, 1, [&](Process& process) {
        if (process.rank() != 0) return;
        auto file = process.open(true, kCreate, {{"oratorio_method", "sieve"}});
        ASSERT_TRUE(file.ok());
        EXPECT_EQ(kind_of((*file)->set_view(pieces_of(0), {})), ErrorKind::none);
        std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece));
        EXPECT_EQ((*file)->access(call_for(Direction::write, mine, false)).error.kind,
                  ErrorKind::none);
        EXPECT_EQ((*file)->stats().hole_reads, 0U);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(cluster.disk.counters().locks, 0U);
}

}  // namespace
}  // namespace oratorio::test::job_locks_test
