// SPDX-License-Identifier: BSD-3-Clause
// Explanations as people read them: one line about the end of an access, and the summary at close.
#include "file/explain_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace oratorio::test::explain_text_test {
namespace {

constexpr Bytes kMiB = 1 << 20;

ExplainedEnd checkpoint() {
    return {.direction = Direction::write,
            .collective = true,
            .bytes = 512 * kMiB,
            .ranks = 4,
            .seconds = 0.31};
}

TEST(ExplainText, TheEndHasBytesRanksTimeAndRate) {
    ExplainedEnd end = checkpoint();
    EXPECT_EQ(end_text(end, 1), "collective write 1: 512 MiB of 4 ranks in 310 ms (1652 MiB/s)\n");
    end.started = true;
    EXPECT_EQ(end_text(end, 2),
              "collective write 2: 512 MiB of 4 ranks in 310 ms while the program ran on (at "
              "least 1652 MiB/s)\n");
    end.collective = false;
    end.direction = Direction::read;
    end.cut_short = true;
    EXPECT_EQ(end_text(end, 3),
              "independent read 3: 512 MiB of rank 0 in 310 ms; the file ended before all data was "
              "read\n");
    end.error = Error::make(ErrorKind::no_space, "write");
    EXPECT_TRUE(
        end_text(end, 4).starts_with("independent read 4: 512 MiB of rank 0 failed after "));
}

TEST(ExplainText, RepetitionsAreAddedUp) {
    Repeated again;
    for (int i = 0; i < 2; ++i) again.add(checkpoint());
    EXPECT_EQ(repeated_text(1, again),
              "access 1 was repeated 2 times, 1 GiB in 620 ms (1652 MiB/s)\n");
    const Repeated small{.times = 100, .bytes = 6400, .seconds = 0.1};
    EXPECT_EQ(repeated_text(2, small),
              "access 2 was repeated 100 times, 6.25 KiB in 100 ms (0.061 MiB/s)\n"
              "  faster       fewer and larger calls: each moved 64 bytes on average\n");
}

TEST(ExplainText, TheSummaryIsShort) {
    Stats sums;
    sums.accesses = 8;
    sums.bytes_moved = static_cast<std::uint64_t>(1024 * kMiB);
    sums.access_time = 4'000'000'000;
    sums.storage_time = 1'000'000'000;
    sums.wait_time = 500'000'000;
    sums.copy_time = 250'000;
    sums.estimated_time = 3'000'000'000;
    sums.storage_calls = 64;
    sums.bytes_stored = sums.bytes_moved;
    sums.hole_reads = 1;
    sums.messages_sent = 12;
    sums.message_bytes = 4096;
    EXPECT_EQ(
        summary_text(sums, 4),
        "  accesses     8 accesses of 4 ranks: 1 GiB of the program's data\n"
        "  speed        256 MiB/s per rank during its accesses, 1024 MiB/s if all 4 access the "
        "file at once\n"
        "  time         4 s in blocking accesses: 1 s for the storage, 500 ms waiting for other "
        "ranks, 250 us copying\n"
        "  estimated    3 s, for the accesses with a plan\n"
        "  storage      64 calls: 1 GiB written, 0 bytes read\n"
        "  holes        1 range with holes, read first to keep what is in them\n"
        "  messages     12 messages between ranks, 4 KiB\n");
}

}  // namespace
}  // namespace oratorio::test::explain_text_test
