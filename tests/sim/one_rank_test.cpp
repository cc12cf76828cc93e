// SPDX-License-Identifier: BSD-3-Clause
// A rank that is alone in its communicator hardly ever waits, and moves small contiguous data in
// the call that starts the access.
#include "sim/file_ranks.hpp"

namespace oratorio::test::one_rank_test {
namespace {

/// Runs `body` with a file of one rank. Returns how often the rank idled.
template <class Body>
std::uint64_t rests_of_one_rank(const HintMap& hints, Body body) {
    const Folder folder;
    SimOptions options;
    options.late_percent = 0;
    const SimReport report = run_ranks(options, [&](Transport& transport) {
        auto file = open_on(transport, call_of(folder.file("data"), kCreate, hints));
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        body(**file);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    return report.counters.front().idles;
}

TEST(OneRank, DoesNotRestInEachCollectiveCall) {
    for (const char* method : {"auto", "list_io", "two_phase", "shared_buffer", "sieve"}) {
        SCOPED_TRACE(method);
        const auto rests = rests_of_one_rank({{"oratorio_method", method}}, [](File& file) {
            std::vector<std::byte> data(64, std::byte{7});
            for (int i = 0; i < 100; ++i) {
                EXPECT_EQ(file.access(call_for(Direction::write, data, true)).bytes, 64);
                EXPECT_EQ(file.access(call_for(Direction::read, data, true,
                                               Positioning::explicit_offset, 0))
                              .bytes,
                          64);
                EXPECT_EQ(kind_of(file.set_size(6400)), ErrorKind::none);
            }
        });
        EXPECT_LE(rests, 2U) << "once, when the memory of the node is made";
    }
}

/// This holds for collective calls as well, because the rank is the only one.
TEST(OneRank, MovesSmallContiguousDataInTheCallThatStartsIt) {
    const Folder folder;
    with_file(1, call_of(folder.file("data"), kCreate), [](File& file, Rank) {
        const std::uint64_t plans = file.stats().plans;
        std::vector<std::byte> data(64, std::byte{7});
        for (const bool collective : {false, true}) {
            EXPECT_EQ(file.access(call_for(Direction::write, data, collective)).bytes, 64);
            const auto started = file.start(call_for(Direction::write, data, collective));
            EXPECT_TRUE(started->done());
            EXPECT_EQ(started->outcome().bytes, 64);
        }
        EXPECT_EQ(file.stats().plans, plans);
        std::vector<std::byte> large(kSmallAccess + 1, std::byte{8});
        const auto started = file.start(call_for(Direction::write, large, true));
        EXPECT_FALSE(started->done()) << "a program may compute until then";
        EXPECT_EQ(file.finish(started).bytes, kSmallAccess + 1);
        EXPECT_EQ(file.stats().plans, plans + 1);
        EXPECT_EQ(file.stats().accesses, 5U);
    });
    EXPECT_EQ(folder.read("data").size(), 4U * 64 + kSmallAccess + 1);
}

/// Accesses are made in the order in which they were started, also one that needs a single call.
TEST(OneRank, ASmallAccessWaitsForTheAccessesInTheQueue) {
    for (const bool starts : {false, true}) {
        const Folder folder;
        with_file(1, call_of(folder.file("data"), kCreate), [&](File& file, Rank) {
            constexpr auto kAt = Positioning::explicit_offset;
            std::vector<std::byte> large(kSmallAccess + 1, std::byte{'l'});
            std::vector<std::byte> small(64, std::byte{'s'});
            const auto queued = file.start(call_for(Direction::write, large, false, kAt, 0));
            EXPECT_FALSE(queued->done());
            const AccessCall after = call_for(Direction::write, small, false, kAt, 0);
            EXPECT_EQ((starts ? file.finish(file.start(after)) : file.access(after)).bytes, 64);
            EXPECT_TRUE(queued->done());
        });
        EXPECT_EQ(folder.read("data"), std::string(64, 's') + std::string(kSmallAccess - 63, 'l'));
    }
}

/// Atomic mode needs a lock, and a method that a hint names works as its plan says.
TEST(OneRank, AtomicModeAndANamedMethodTakeAPlan) {
    for (const bool atomic : {false, true}) {
        const Folder folder;
        const HintMap hints = atomic ? HintMap{} : HintMap{{"oratorio_method", "list_io"}};
        with_file(1, call_of(folder.file("data"), kCreate, hints), [&](File& file, Rank) {
            ASSERT_EQ(kind_of(file.set_atomicity(atomic)), ErrorKind::none);
            const std::uint64_t plans = file.stats().plans;
            std::vector<std::byte> data(64, std::byte{7});
            EXPECT_EQ(file.access(call_for(Direction::write, data, false)).bytes, 64);
            EXPECT_EQ(file.finish(file.start(call_for(Direction::write, data, false))).bytes, 64);
            EXPECT_EQ(file.stats().plans, plans + 2);
        });
    }
}

}  // namespace
}  // namespace oratorio::test::one_rank_test
