// SPDX-License-Identifier: BSD-3-Clause
// Failures in accesses to or from device memory: which error is returned and on which ranks. No
// rank may wait forever.
#include <sys/mman.h>

#include "sim/device_case.hpp"

// Makes mmap fail for one thread, so that the thread gets no bounce buffer.
extern "C" {
thread_local bool mmap_fails = false;
void* __real_mmap(void*, size_t, int, int, int, off_t);
void* __wrap_mmap(void* at, size_t bytes, int rights, int flags, int descriptor, off_t offset) {
    if (mmap_fails) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, bytes, rights, flags, descriptor, offset);
}
}

namespace oratorio::test {
namespace {

ORATORIO_ON_BOTH_DRIVERS;

TEST_P(OnDevice, MoreDataThanALayoutMayHaveIsRefused) {
    std::byte* const out = filled(1000, 2);
    const Layout layouts[] = {{Shape::run(8), 8, 0, Bytes{1} << 61},
                              {Shape::run(1), 1, 0, kOffsetLimit + 8},
                              {Shape::run(8), kOffsetLimit, 0, 2}};
    for (const int ranks : {1, 2})
        for (const bool atomic : {false, true})
            for (const bool collective : {false, true})
                for (const Positioning at : {kAt, kShared})
                    with_file(ranks, opening(), [&](File& file, Rank rank) {
                        ASSERT_TRUE(file.set_atomicity(atomic).ok());
                        for (const Layout& layout : layouts) {
                            AccessCall made = call(kWriting, out, 1000, collective, 0, at);
                            made.memory = layout;
                            const Outcome outcome = file.access(made);
                            EXPECT_EQ(outcome.error.kind, ErrorKind::count) << "rank " << rank;
                            EXPECT_EQ(outcome.bytes, 0);
                        }
                    });
    EXPECT_EQ(folder_.read("data"), "");
}

TEST_P(OnDevice, ACopyThatFailsEndsTheAccessWithWhatWasWritten) {
    std::byte* const out = filled(3 * kPiece, 2);
    for (const int late : {0, 1})
        for (const int copy : {1, 2, 3}) {
            SCOPED_TRACE(std::to_string(copy) + (late != 0 ? " late" : ""));
            with_file(1, opening(), [&](File& file, Rank) {
                device_.counts() = {};
                device_.counts().fails_at = copy;
                device_.counts().fails_late = late;
                const Outcome outcome = file.access(call(kWriting, out, 3 * kPiece, false));
                EXPECT_EQ(outcome.error.kind, ErrorKind::buffer);
                EXPECT_EQ(outcome.error.rank, 0);
                EXPECT_EQ(outcome.bytes, (copy - 1) * kPiece);
                // The call after the failed one succeeds.
                device_.counts().fails_at = 0;
                expect_done(file.access(call(kWriting, out, kPiece, false)), kPiece);
            });
        }
}

TEST_P(OnDevice, AReadCountsOnlyBytesThatArrived) {
    std::byte* const out = filled(3 * kPiece, 2);
    for (const int late : {0, 1})
        for (const int copy : {1, 2, 3}) {
            SCOPED_TRACE(std::to_string(copy) + (late != 0 ? " late" : ""));
            std::byte* const in = empty(3 * kPiece);
            with_file(1, opening(), [&](File& file, Rank) {
                expect_done(file.access(call(kWriting, out, 3 * kPiece, false)), 3 * kPiece);
                device_.counts() = {};
                device_.counts().fails_at = copy;
                device_.counts().fails_late = late;
                const Outcome outcome = file.access(call(kReading, in, 3 * kPiece, false));
                EXPECT_EQ(outcome.error.kind, ErrorKind::buffer);
                EXPECT_EQ(outcome.bytes, (copy - 1) * kPiece);
                device_.counts().fails_at = 0;
            });
            EXPECT_TRUE(is_filled(in, (copy - 1) * kPiece, 2));
        }
}

TEST_P(OnDevice, AWriteOfAllRanksFailsOnAllWhereOneCantCopy) {
    std::byte* const out = filled(1000, 2);
    for (const int late : {0, 1}) {
        device_.counts() = {};
        device_.counts().fails_at = 1;
        device_.counts().fails_late = late;
        with_file(3, opening(), [&](File& file, Rank rank) {
            std::vector<std::byte> mine(1000, std::byte{1});
            const Outcome outcome =
                file.access(rank == 1 ? call(kWriting, out, 1000, true, 1000)
                                      : call_for(kWriting, mine, true, kAt, 1000 * rank));
            EXPECT_EQ(outcome.error.kind, ErrorKind::buffer);
            EXPECT_EQ(outcome.error.rank, 1);
            EXPECT_EQ(outcome.bytes, rank == 1 ? 0 : 1000);
        });
    }
}

TEST_P(OnDevice, AReadOfAllRanksFailsWhereTheDataDoesntArrive) {
    folder_.make("data", std::string(3000, 'x'));
    std::byte* const in = empty(1000);
    device_.counts().fails_at = 1;
    with_file(3, opening(), [&](File& file, Rank rank) {
        std::vector<std::byte> mine(1000);
        const Outcome outcome =
            file.access(rank == 1 ? call(kReading, in, 1000, true, 1000)
                                  : call_for(kReading, mine, true, kAt, 1000 * rank));
        EXPECT_EQ(outcome.error.kind, rank == 1 ? ErrorKind::buffer : ErrorKind::none);
        EXPECT_EQ(outcome.bytes, rank == 1 ? 0 : 1000);
    });
}

/// The pieces before the one that fails are in the file and are counted.
TEST_P(OnDevice, APieceThatCantBeCopiedEndsTheWriteOfAllRanks) {
    std::byte* const out = filled(3 * kPiece, 2);
    for (const int late : {0, 1})
        for (const int copy : {2, 3}) {
            SCOPED_TRACE(std::to_string(copy) + (late != 0 ? " late" : ""));
            device_.counts() = {};
            device_.counts().fails_at = copy;
            device_.counts().fails_late = late;
            with_file(3, opening(), [&](File& file, Rank rank) {
                std::vector<std::byte> mine(1000, std::byte{1});
                const Outcome outcome =
                    file.access(rank == 1 ? call(kWriting, out, 3 * kPiece, true, 2000)
                                          : call_for(kWriting, mine, true, kAt, 500 * rank));
                EXPECT_EQ(outcome.error.kind, ErrorKind::buffer);
                EXPECT_EQ(outcome.error.rank, 1);
                EXPECT_EQ(outcome.bytes, rank == 1 ? (copy - 1) * kPiece : 1000);
                device_.counts().fails_at = 0;
                expect_done(file.access(call_for(kWriting, mine, true, kAt, 1000 * rank)), 1000);
            });
        }
}

/// The rank that fails reports its failure to the other ranks along with its next piece.
TEST_P(OnDevice, APieceThatDoesntArriveEndsTheReadOfAllRanks) {
    folder_.make("data", std::string(static_cast<std::size_t>(3 * kPiece), 'x'));
    std::byte* const in = empty(3 * kPiece);
    for (const int copy : {1, 2}) {
        SCOPED_TRACE(copy);
        device_.counts() = {};
        device_.counts().fails_at = copy;
        with_file(2, opening(), [&](File& file, Rank rank) {
            std::vector<std::byte> mine(1000);
            const Outcome outcome = file.access(rank == 1 ? call(kReading, in, 3 * kPiece, true)
                                                          : call_for(kReading, mine, true, kAt, 0));
            EXPECT_EQ(outcome.error.kind, ErrorKind::buffer);
            EXPECT_EQ(outcome.error.rank, 1);
            EXPECT_EQ(outcome.bytes, rank == 1 ? (copy - 1) * kPiece : 1000);
        });
    }
}

TEST_P(OnDevice, WithoutMemoryToCopyThroughAccessesFailAndNobodyHangs) {
    std::byte* const out = filled(1000, 2);
    for (const bool collective : {false, true}) {
        with_file(2, opening(), [&](File& file, Rank rank) {
            std::vector<std::byte> mine(1000, std::byte{1});
            if (rank == 1) mmap_fails = true;
            const Outcome outcome =
                file.access(rank == 1 ? call(kWriting, out, 1000, collective, 1000)
                                      : call_for(kWriting, mine, collective, kAt, 0));
            mmap_fails = false;
            EXPECT_EQ(outcome.error.kind,
                      rank == 1 || collective ? ErrorKind::no_memory : ErrorKind::none);
            EXPECT_EQ(outcome.bytes, rank == 1 ? 0 : 1000);
        });
    }
}

}  // namespace
}  // namespace oratorio::test
