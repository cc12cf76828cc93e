// SPDX-License-Identifier: BSD-3-Clause
// Tests of the oracle itself, on programs small enough to judge by hand, and on a fixed number of
// random programs.
#include <gtest/gtest.h>

#include <set>

#include "oracle/execute.hpp"
#include "oracle/rules.hpp"
#include "oracle/shrink.hpp"
#include "plan/methods.hpp"

namespace oratorio::oracle {
namespace {

constexpr auto kWriting = Direction::write;
constexpr auto kReading = Direction::read;

/// A program of two ranks and two handles, each opened by both ranks with a view of the whole file.
class Small {
  public:
    Small() {
        program_.ranks = 2;
        program_.handles = {{{0, 1}, {}, false}, {{0, 1}, {}, false}};
        for (int handle = 0; handle < 2; ++handle) {
            both(Kind::open, handle);
            both(Kind::view, handle);
        }
    }
    Step& both(Kind kind, int handle) {
        Step& step = add(kind, handle);
        step.collective = true;
        const Tiles all{0, 1, {{0, 1}}};
        step.parts = {{0, all, 0, 0}, {1, all, 0, 0}};
        return step;
    }
    /// Adds an access to bytes [0, 8).
    int access(Rank rank, int handle, Direction direction) {
        Step& step = add(Kind::access, handle);
        step.direction = direction;
        step.parts = {{rank, {}, 0, 8}};
        return accesses_++;
    }
    void barrier() { add(Kind::barrier, -1); }
    const Program& done() {
        both(Kind::close, 0);
        both(Kind::close, 1);
        return program_;
    }
    Program& program() { return program_; }

  private:
    Step& add(Kind kind, int handle) {
        Step step;
        step.id = static_cast<int>(program_.steps.size());
        step.kind = kind;
        step.handle = handle;
        program_.steps.push_back(step);
        return program_.steps.back();
    }
    Program program_;
    int accesses_ = 0;
};

bool may_read(const Rules& rules, int reader, int writer) {
    return rules.check_read(reader, 3, rules.value(writer, 3)).empty();
}

TEST(Rules, AProcessSeesOnOneHandleWhatItWroteThere) {
    Small small;
    const int first = small.access(0, 0, kWriting);
    const int second = small.access(0, 0, kWriting);
    const int read = small.access(0, 0, kReading);
    const Rules rules(small.done());
    EXPECT_TRUE(may_read(rules, read, second));
    EXPECT_FALSE(may_read(rules, read, first));
    EXPECT_NE(rules.check_read(read, 3, std::byte{0}), "");
}

TEST(Rules, ABarrierAloneMakesNothingVisible) {
    Small small;
    const int write = small.access(0, 0, kWriting);
    small.barrier();
    const int read = small.access(1, 0, kReading);
    const Rules rules(small.done());
    EXPECT_TRUE(may_read(rules, read, write));
    EXPECT_EQ(rules.check_read(read, 3, std::byte{0}), "");
}

TEST(Rules, SyncBarrierSyncDoesForAnyHandles) {
    for (const int handle : {0, 1}) {
        Small small;
        const int write = small.access(0, 0, kWriting);
        small.both(Kind::sync, 0);
        small.barrier();
        small.both(Kind::sync, handle);
        const int read = small.access(1, handle, kReading);
        const Rules rules(small.done());
        EXPECT_TRUE(may_read(rules, read, write));
        EXPECT_NE(rules.check_read(read, 3, std::byte{0}), "");
    }
}

TEST(Rules, ASyncDoesntSynchronise) {
    Small small;
    small.access(0, 0, kWriting);
    small.both(Kind::sync, 0);
    const int read = small.access(1, 0, kReading);
    const Rules rules(small.done());
    EXPECT_EQ(rules.check_read(read, 3, std::byte{0}), "");
}

TEST(Rules, AtomicModeMakesABarrierEnoughOnOneOpen) {
    for (const int handle : {0, 1}) {
        Small small;
        small.both(Kind::atomic, 0).on = true;
        small.both(Kind::atomic, 1).on = true;
        small.access(0, 0, kWriting);
        small.barrier();
        const int read = small.access(1, handle, kReading);
        const Rules rules(small.done());
        EXPECT_EQ(rules.check_read(read, 3, std::byte{0}).empty(), handle == 1);
    }
}

TEST(Rules, AReadDoesntSeeWhatIsWrittenWhenItIsOver) {
    Small small;
    const int read = small.access(1, 0, kReading);
    small.barrier();
    const int write = small.access(0, 0, kWriting);
    const Rules rules(small.done());
    EXPECT_FALSE(may_read(rules, read, write));
}

TEST(Rules, AnAtomicReadSeesAWriteWhollyOrNotAtAll) {
    Small small;
    small.both(Kind::atomic, 0).on = true;
    const int write = small.access(0, 0, kWriting);
    const int read = small.access(1, 0, kReading);
    const Rules rules(small.done());
    std::vector<std::byte> found(8);
    EXPECT_EQ(rules.check_atomic(read, found), "");
    for (Offset at = 0; at < 4; ++at) found[static_cast<std::size_t>(at)] = rules.value(write, at);
    EXPECT_NE(rules.check_atomic(read, found), "");
    for (Offset at = 4; at < 8; ++at) found[static_cast<std::size_t>(at)] = rules.value(write, at);
    EXPECT_EQ(rules.check_atomic(read, found), "");
}

TEST(Rules, OneOfTwoAtomicWritesIsOnTopOfTheOther) {
    Small small;
    small.both(Kind::atomic, 0).on = true;
    const int one = small.access(0, 0, kWriting);
    const int other = small.access(1, 0, kWriting);
    const Rules rules(small.done());
    const auto one_up_to = [&](Offset end) {
        return rules.check_mixed(
            8, [&, end](Offset at) { return rules.value(at < end ? one : other, at); });
    };
    EXPECT_EQ(one_up_to(0), "");
    EXPECT_EQ(one_up_to(8), "");
    EXPECT_NE(one_up_to(5), "");
    EXPECT_EQ(rules.check_mixed(8, [](Offset) { return std::byte{0}; }), "");
}

TEST(Rules, FinalContentsAreOneOfTheUnorderedWrites) {
    Small small;
    const int one = small.access(0, 0, kWriting);
    const int other = small.access(1, 1, kWriting);
    const int last = small.access(1, 1, kWriting);
    const Rules rules(small.done());
    EXPECT_EQ(rules.check_end(3, rules.value(one, 3)), "");
    EXPECT_EQ(rules.check_end(3, rules.value(last, 3)), "");
    EXPECT_NE(rules.check_end(3, rules.value(other, 3)), "");
    EXPECT_NE(rules.check_end(3, std::byte{0}), "");
}

TEST(Rules, ACountEndsWhereTheFileMayEnd) {
    Small small;
    small.access(0, 0, kWriting);
    const int read = small.access(0, 0, kReading);
    const Rules rules(small.done());
    EXPECT_EQ(rules.check_count(read, 8), "");
    EXPECT_NE(rules.check_count(read, 7), "");
}

TEST(Rules, ReportedSizesArePossible) {
    Small small;
    small.program().setting.prefill = 20;
    small.both(Kind::size, 0).size = 12;
    const int early = small.both(Kind::get_size, 1).id;
    small.both(Kind::sync, 0);
    small.barrier();
    small.both(Kind::sync, 1);
    const int late = small.both(Kind::get_size, 1).id;
    const Rules rules(small.done());
    EXPECT_EQ(rules.check_told_size(early, 1, 20), "");
    EXPECT_EQ(rules.check_told_size(late, 1, 12), "");
    EXPECT_NE(rules.check_told_size(late, 1, 20), "");
}

TEST(Oracle, ASeedIsOneProgramAndOneInterleaving) {
    Stacks stacks;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Program program = make_program(seed, {});
        EXPECT_EQ(describe(program), describe(make_program(seed, {})));
        const Verdict one = execute(program, stacks);
        const Verdict two = execute(program, stacks);
        EXPECT_EQ(one.wrong, two.wrong);
        EXPECT_EQ(one.switches, two.switches);
    }
}

TEST(Oracle, ProgramsUseEveryMethod) {
    std::set<std::string> unused;
    for (const Method& method : methods()) unused.emplace(method.name);
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        for (const Handle& handle : make_program(seed, {}).handles) {
            const auto named = handle.hints.find("oratorio_method");
            if (named != handle.hints.end()) unused.erase(named->second);
        }
    }
    EXPECT_EQ(unused, std::set<std::string>{});
}

/// Runs the programs of `count` seeds and returns how many locks of the job were granted. `oratorio
/// soak` runs any number of them.
int run_seeds(std::uint64_t count, const Features& features) {
    Stacks stacks;
    int locks = 0;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        const Program program = make_program(seed, features);
        const Verdict verdict = execute(program, stacks);
        locks += verdict.job_locks;
        if (verdict.ok()) continue;
        const Shrunk shrunk = shrink(program, verdict, stacks);
        ADD_FAILURE() << "seed " << seed << ": " << verdict.wrong
                      << "\nthe shortest program that fails in the same way:\n"
                      << describe(shrunk.program) << shrunk.verdict.wrong;
        break;
    }
    return locks;
}

TEST(RandomPrograms, SeeOnlyAllowedResults) {
    run_seeds(1000, {});
}

TEST(RandomPrograms, SeeOnlyAllowedResultsWhereNoPlanIsKept) {
    Features features;
    features.fresh_views = true;
    run_seeds(300, features);
}

/// In this program a collective read fails on both ranks with different errors: one has no memory,
/// and the other's storage request fails. No rank has to hear of the other's error later.
TEST(RandomPrograms, AReadThatFailsOnAllRanksIsNotReportedAgain) {
    Features features;
    features.faults = true;
    Stacks stacks;
    EXPECT_EQ(execute(make_program(96014094, features), stacks).wrong, "");
}

TEST(RandomPrograms, SeeOnlyAllowedResultsWithOneRank) {
    Features features;
    features.ranks = 1;
    run_seeds(300, features);
    features.clients = true;
    run_seeds(60, features);
}

TEST(RandomPrograms, SeeOnlyAllowedResultsOnClientsWithCaches) {
    Features features;
    features.clients = true;
    run_seeds(300, features);
}

TEST(RandomPrograms, DetectLostDataIfClientsAreTreatedAsLocal) {
    Features features;
    features.plain_clients = true;
    Stacks stacks;
    std::set<std::string> kinds;
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
        kinds.insert(execute(make_program(seed, features), stacks).kind());
    EXPECT_TRUE(kinds.contains("lost"));
    EXPECT_TRUE(kinds.contains("stale"));
}

TEST(RandomPrograms, DetectLostDataIfLocksOfOneNodeAreTrusted) {
    Features features;
    features.client = ClientKind::ocfs2;
    features.locks = "file";
    Stacks stacks;
    std::set<std::string> kinds;
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        kinds.insert(execute(make_program(seed, features), stacks).kind());
    EXPECT_TRUE(kinds.contains("lost"));
    features.atomic = true;
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        kinds.insert(execute(make_program(seed, features), stacks).kind());
    EXPECT_TRUE(kinds.contains("mixed"));
}

TEST(RandomPrograms, AreRightWhereLocksAreVisibleOnOneNodeOnly) {
    for (const ClientKind kind : {ClientKind::ocfs2, ClientKind::ninep}) {
        Features features;
        features.client = kind;
        EXPECT_GT(run_seeds(100, features), 1000);
        features.atomic = true;
        EXPECT_GT(run_seeds(50, features), 1000);
    }
}

TEST(RandomPrograms, AreRightOverClientsWithOddAnswers) {
    for (const ClientKind kind : {ClientKind::ceph, ClientKind::smb, ClientKind::moose}) {
        Features features;
        features.client = kind;
        run_seeds(60, features);
    }
}

TEST(RandomPrograms, AreRightUnderTheJobsLocks) {
    Features features;
    features.locks = "job";
    EXPECT_GT(run_seeds(100, features), 1000);
    features.only_faults = true;
    EXPECT_GT(run_seeds(60, features), 1000);
}

TEST(RandomPrograms, GoOnWhenARankDiesWithALockOfTheJob) {
    Features features;
    features.locks = "job";
    features.deaths = true;
    EXPECT_GT(run_seeds(60, features), 1000);
}

TEST(RandomPrograms, TakeNoLocksOfTheJobWhereThoseOfTheFileSystemDo) {
    Features features;
    features.client = ClientKind::nfs;
    EXPECT_EQ(run_seeds(50, features), 0);
}

TEST(RandomPrograms, WithoutMemorySucceedOrFailOnAllRanks) {
    Features features;
    features.scarce = true;
    run_seeds(300, features);
}

TEST(RandomPrograms, FailOnAllRanksIfStorageFails) {
    Features features;
    features.only_faults = true;
    run_seeds(400, features);
}

}  // namespace
}  // namespace oratorio::oracle
