// SPDX-License-Identifier: BSD-3-Clause
// The lock service that a process offers for a file, and what the process knows about its
// other handles.
#include "file/job_locks.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/sim_locks.hpp"

namespace oratorio::test::job_locks_test {
namespace {

constexpr long kExt4 = 0xEF53;
constexpr long kOcfs2 = 0x7461636F;
constexpr long kSmb = 0xFE534D42;
constexpr long k9p = 0x01021997;

/// Returns the situation of a file that all processes of a job have opened, on several nodes of
/// several machines.
LockSituation situation_on(long file_system, std::uint64_t number = 7) {
    return {.number = {.device = 5, .number = number},
            .file_system = file_system,
            .one_node = false,
            .one_machine = false};
}

/// The job locks of a single process.
struct Process {
    SimLocks job;
    SimLockServices services{job, [] { FAIL() << "no other process holds a lock"; }};
    JobLocks locks{services};

    LockOffer offer(const LockSituation& inputs) {
        JobLocks::Listing listing;
        return locks.offer(inputs, listing);
    }
};

TEST(JobLocksOffer, AnUnknownMountIsTestedOnceAndThenKnown) {
    Process process;
    const LockOffer first = process.offer(situation_on(kOcfs2));
    EXPECT_NE(first.probe, 0);
    EXPECT_EQ(first.place.count, 1U);
    for (const bool seen : {true, false}) {
        process.locks.remember({.device = 5, .number = 1}, seen);
        const LockOffer later = process.offer(situation_on(kOcfs2));
        EXPECT_EQ(later.probe, 0);
        EXPECT_EQ(later.job, !seen);
        EXPECT_EQ(later.reason, seen ? LockReason::seen : LockReason::unseen);
    }
    // All of these handles are closed, and none of them has used the service.
    EXPECT_EQ(process.job.offers, 0);
}

TEST(JobLocksOffer, ProbesAreFarBehindAllDataAndDiffer) {
    Process process;
    const Offset one = process.offer(situation_on(kOcfs2)).probe;
    const Offset other = process.offer(situation_on(kOcfs2)).probe;
    EXPECT_NE(one, other);
    EXPECT_GT(one, (Offset{1} << 62) + 100);
    EXPECT_GT(other, (Offset{1} << 62) + 100);
}

TEST(JobLocksOffer, NothingIsTestedWhereOneKernelHasAllLocks) {
    Process process;
    LockSituation inputs = situation_on(kExt4);
    inputs.one_machine = true;
    EXPECT_EQ(process.offer(inputs).reason, LockReason::one_machine);
    // Ext4 is local, but rank 0 may run on the server from which the other machines mount the file.
    EXPECT_NE(process.offer(situation_on(kExt4)).probe, 0);
    inputs = situation_on(kOcfs2);
    inputs.one_node = inputs.one_machine = true;
    const LockOffer offer = process.offer(inputs);
    EXPECT_EQ(offer.reason, LockReason::one_node);
    EXPECT_TRUE(offer.fills);
    EXPECT_FALSE(offer.job);
}

TEST(JobLocksOffer, MandatoryLocksAreNotUsedBetweenNodes) {
    Process process;
    const LockOffer smb = process.offer(situation_on(kSmb));
    EXPECT_TRUE(smb.job);
    EXPECT_EQ(smb.reason, LockReason::mandatory);
}

TEST(JobLocksOffer, LocksOfWholeFilesAreNeverUsed) {
    for (const bool one_node : {false, true}) {
        for (const LockChoice wanted : {LockChoice::automatic, LockChoice::file}) {
            Process process;
            LockSituation inputs = situation_on(k9p);
            inputs.one_node = inputs.one_machine = one_node;
            inputs.wanted = wanted;
            const LockOffer offer = process.offer(inputs);
            EXPECT_TRUE(offer.job);
            EXPECT_EQ(offer.reason, LockReason::whole_file);
        }
    }
}

TEST(JobLocksOffer, TheHintComesFirst) {
    Process process;
    LockSituation inputs = situation_on(kSmb);
    inputs.wanted = LockChoice::file;
    EXPECT_FALSE(process.offer(inputs).job);
    inputs = situation_on(kExt4);
    inputs.one_node = inputs.one_machine = true;
    inputs.wanted = LockChoice::job;
    EXPECT_TRUE(process.offer(inputs).job);
}

TEST(JobLocksOffer, APartOfTheJobOnOneNodeFillsHolesOnceMoreIsKnown) {
    LockSituation part = situation_on(kOcfs2);
    part.one_node = part.one_machine = true;
    part.covers_job = false;
    LockSituation all = part;
    all.covers_job = true;
    Process process;
    EXPECT_FALSE(process.offer(part).fills);
    (void)process.offer(all);  // shows that all ranks of the job are on one node
    EXPECT_TRUE(process.offer(part).fills);
    Process other;
    other.locks.remember(part.number, true);
    EXPECT_TRUE(other.offer(part).fills);
}

TEST(JobLocksOffer, WithoutAServiceTheOfferHasTheReason) {
    Process process;
    process.job.refused = EMFILE;
    const LockOffer offer = process.offer(situation_on(kSmb));
    EXPECT_TRUE(offer.job);
    EXPECT_EQ(offer.place.count, 0U);
    EXPECT_EQ(offer.refused_errno, EMFILE);
    EXPECT_EQ(process.locks.reach(offer), nullptr);
}

TEST(JobLocksListing, AHandleKnowsOfOthersOnItsFileAndWhetherTheyFillHoles) {
    Process process;
    const LockSituation inputs = situation_on(kSmb);
    JobLocks::Listing filler;
    const LockOffer offer = process.locks.offer(inputs, filler);
    EXPECT_FALSE(filler.others());
    {
        const auto undecided = process.locks.list(inputs.number, offer);
        EXPECT_TRUE(undecided.others());
        EXPECT_TRUE(undecided.filler());
    }
    filler.settle(true, false);
    EXPECT_FALSE(process.locks.list(inputs.number, offer).filler());
    filler.settle(true, true);
    EXPECT_TRUE(process.locks.list(inputs.number, offer).filler());
    const auto other_file = process.locks.list({.device = 5, .number = 8}, offer);
    EXPECT_FALSE(other_file.others());
    filler = {};
    EXPECT_FALSE(process.locks.list(inputs.number, offer).others());
}

TEST(JobLocksListing, HandlesUseTheLocksOfAHandleThatFillsHoles) {
    Process process;
    JobLocks::Listing filler;
    const LockOffer first = process.locks.offer(situation_on(kSmb), filler);
    filler.settle(true, true);
    // The same file, reached through another file system.
    LockSituation self = situation_on(kExt4);
    self.one_node = self.one_machine = true;
    self.covers_job = false;
    const LockOffer beside = process.offer(self);
    EXPECT_TRUE(beside.job);
    EXPECT_EQ(beside.reason, LockReason::filled_by_other);
    EXPECT_EQ(beside.file, first.file);
    self.number.number = 8;
    EXPECT_FALSE(process.offer(self).job);
}

TEST(JobLocksListing, AServiceStaysOnceAHandleUsesIt) {
    Process process;
    {
        JobLocks::Listing listing;
        const LockOffer offer = process.locks.offer(situation_on(kSmb), listing);
        (void)process.locks.reach(offer);
        listing.settle(true, true);
    }
    EXPECT_EQ(process.job.offers, 1);
    EXPECT_EQ(process.offer(situation_on(kSmb)).place.count, 1U);
    EXPECT_EQ(process.job.offers, 1);  // the service that exists already is used
}

TEST(JobLocksText, NamesTheFileSystemAndTheReason) {
    Process process;
    process.locks.remember({.device = 5, .number = 1}, false);
    EXPECT_EQ(describe_locks(process.offer(situation_on(kOcfs2)), true),
              "ocfs2: locks are visible on one node only; using the job's locks");
}

}  // namespace
}  // namespace oratorio::test::job_locks_test
