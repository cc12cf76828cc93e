// SPDX-License-Identifier: BSD-3-Clause
// Data far apart or far out in a file: the cost of an access depends on the amount of its data, not
// on the length of the file that the data is spread over. No offset may lead to an overflow or to
// an endless loop.
#include <gtest/gtest.h>

#include <cstring>

#include "sim/case.hpp"
#include "sim/file_ranks.hpp"
#include "support/method_names.hpp"
#include "support/rank_file.hpp"
#include "support/watched_prefetch.hpp"

namespace oratorio::test::far_data_test {
namespace {

constexpr int kRanks = 3;

/// One rank's access and its result.
struct Part {
    Layout file;
    Bytes from = 0;
    std::vector<std::byte> memory;
    Outcome outcome;
    Stats stats;
};

FlatTerms terms_for(const std::string& method) {
    FlatTerms options;
    options.method = find_method(method);
    options.cb_buffer_size = 64 << 10;
    options.ind_rd_buffer_size = options.ind_wr_buffer_size = 16 << 10;
    options.mappable = options.coherent = options.local_file_system = true;
    options.agents = {
        .ranks = {0, 1}, .threads = 1, .block = 4096, .message = 8192, .refused = false};
    return options;
}

void run_parts(std::vector<Part>& parts, Direction direction, MemoryDisk& disk,
               const FlatTerms& options, bool collective, const std::vector<int>& node_of) {
    SimOptions sim;
    sim.ranks = static_cast<int>(parts.size());
    sim.seed = 5;
    sim.node_of = node_of;
    run_ranks(sim, [&](Transport& transport) {
        Part& part = parts[static_cast<std::size_t>(transport.topology().rank)];
        WatchedPrefetch prefetch(1);
        MemoryStoreOptions store_options;
        store_options.prefetch = &prefetch;
        MemoryStore store(disk, store_options, [&] { transport.idle(); });
        const auto bytes = static_cast<Bytes>(part.memory.size());
        Access access;
        access.direction = direction;
        access.file = part.file;
        access.from = part.from;
        access.memory = {Shape::run(std::max<Bytes>(bytes, 1)), bytes, 0, bytes > 0 ? 1 : 0};
        access.buffer = part.memory.data();
        RankFile file(transport, store, options, part.stats, {.shares_memory = true});
        part.outcome = file.access(access, collective);
    });
}

std::vector<std::byte> filled(Rank rank, std::size_t bytes) {
    std::vector<std::byte> memory(bytes);
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = written_byte(rank, i);
    return memory;
}

/// Writes the parts, reads them back, and expects that both take little work.
void expect_little_work(std::vector<Part> parts, const std::string& method, bool collective,
                        const std::vector<int>& node_of) {
    constexpr std::uint64_t kMost = 3000;
    MemoryDisk disk;
    const FlatTerms options = terms_for(method);
    for (const Direction direction : {Direction::write, Direction::read}) {
        if (direction == Direction::read)
            for (Part& part : parts) std::ranges::fill(part.memory, std::byte{0});
        run_parts(parts, direction, disk, options, collective, node_of);
        Rank rank = 0;
        for (Part& part : parts) {
            ASSERT_EQ(part.outcome.error.kind, ErrorKind::none) << part.outcome.error.what;
            EXPECT_EQ(part.outcome.bytes, std::ssize(part.memory));
            EXPECT_LE(part.stats.rounds, kMost);
            EXPECT_LE(part.stats.messages_sent, kMost);
            EXPECT_LE(part.stats.storage_calls, kMost);
            EXPECT_EQ(part.memory, filled(rank++, part.memory.size()));
            part.stats = {};
        }
    }
}

/// Returns parts of a few bytes of each rank at the start of the file, and a few more `far` bytes
/// further on.
std::vector<Part> clusters(Offset far) {
    std::vector<Part> parts(kRanks);
    for (Rank rank = 0; rank < kRanks; ++rank) {
        Part& part = parts[static_cast<std::size_t>(rank)];
        part.file = {Shape::runs({rank * 100, far + rank * 10}, {90, 7}), far + 4096, 0,
                     Layout::unbounded};
        part.memory = filled(rank, 97);
    }
    return parts;
}

/// Returns parts of a few bytes of each rank, `far` bytes apart.
std::vector<Part> apart(Offset far) {
    std::vector<Part> parts(kRanks);
    for (Rank rank = 0; rank < kRanks; ++rank) {
        Part& part = parts[static_cast<std::size_t>(rank)];
        part.file = {Shape::run(1), 1, rank * far, Layout::unbounded};
        part.memory = filled(rank, 4);
    }
    return parts;
}

class FarData : public testing::TestWithParam<std::string> {};

TEST_P(FarData, TheWorkFollowsTheDataNotTheFilesLength) {
    for (const std::vector<int>& node_of : {std::vector<int>{}, std::vector<int>{0, 0, 1}}) {
        for (const bool collective : {true, false}) {
            for (const Offset far : {Offset{1} << 31, Offset{1} << 42, Offset{1} << 60}) {
                SCOPED_TRACE(std::to_string(far) + (collective ? " collective" : " independent"));
                expect_little_work(apart(far), GetParam(), collective, node_of);
                expect_little_work(clusters(far), GetParam(), collective, node_of);
            }
        }
    }
}

/// A view with tiles up to or beyond the largest offset, and elements in it to access.
struct FarView {
    Offset displacement = 0;
    Bytes extent = 8;
    Offset index = 0;
    std::int64_t count = 1;

    [[nodiscard]] View view() const {
        return *View::make(displacement, 8, Shape::run(8), extent, true, "native");
    }
    [[nodiscard]] __int128 end() const {
        return displacement + static_cast<__int128>(index + count - 1) * extent + 8;
    }
    /// Returns true if the accessed elements lie within the range of offsets. Computed with 128-bit
    /// numbers, which do not overflow.
    [[nodiscard]] bool fits() const {
        return end() <= kOffsetLimit && (index + count) * static_cast<__int128>(8) <= kOffsetLimit;
    }
};

FarView random_view(Random& random) {
    const auto near_power = [&](int lowest, int highest) {
        const auto power = Offset{1} << random.between(lowest, highest);
        return power + random.between(-20, 20);
    };
    FarView far;
    if (random.chance(50)) far.displacement = near_power(50, 62);
    far.extent = random.chance(30) ? 8 : random.chance(30) ? 16 : 8 + near_power(5, 60);
    far.count = random.between(1, 4);
    // The elements lie near the largest offset, or anywhere.
    const Offset room = std::max<Offset>(0, kOffsetLimit - far.displacement - 8) / far.extent;
    far.index =
        random.chance(50) ? std::max<Offset>(0, room + random.between(-6, 2)) : near_power(10, 62);
    return far;
}

TEST_P(FarData, EveryOffsetIsEitherReachedOrRefused) {
    int reached = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        std::vector<Part> parts(kRanks);
        const FarView shared = random_view(random);
        for (Rank rank = 0; rank < kRanks; ++rank) {
            FarView far = shared;
            far.index += rank * far.count;
            const View view = far.view();
            const auto from = view.data_position(far.index, 8 * far.count);
            ASSERT_EQ(from.has_value(), far.fits());
            ++(from ? reached : refused);
            if (!from) continue;
            ASSERT_EQ(view.byte_offset(far.index), far.displacement + far.index * far.extent);
            Part& part = parts[static_cast<std::size_t>(rank)];
            part.file = view.file;
            part.from = *from;
            part.memory = filled(rank, static_cast<std::size_t>(8 * far.count));
        }
        for (Part& part : parts)
            if (part.memory.empty()) part.file = View::bytes().file;
        expect_little_work(parts, GetParam(), seed % 4 != 0,
                           seed % 2 == 0 ? std::vector<int>{} : std::vector<int>{0, 1, 1});
        if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(reached, 60);
    EXPECT_GT(refused, 20);
}

TEST(FarOffsets, PastTheLargestAreErrorsOfAllRanks) {
    for (const int ranks : {1, 3}) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            const auto view = View::make(8, 4, Shape::run(4), Bytes{1} << 20, true, "native");
            ASSERT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
            // `last` is the number of tiles that end before the limit.
            const Offset last = (kOffsetLimit >> 20) - 1;
            std::vector<std::byte> data(8);
            const auto kind = [&](Direction direction, bool collective, Offset offset) {
                return file
                    .access(
                        call_for(direction, data, collective, Positioning::explicit_offset, offset))
                    .error.kind;
            };
            for (const Offset offset : {last + 1, last * 2, kOffsetLimit - 1, INT64_MAX}) {
                const Offset mine = rank == ranks - 1 ? offset : rank;
                EXPECT_EQ(kind(Direction::write, true, mine), ErrorKind::argument);
                EXPECT_EQ(kind(Direction::read, true, mine), ErrorKind::argument);
                EXPECT_EQ(kind(Direction::write, false, offset), ErrorKind::argument);
                EXPECT_EQ(kind(Direction::read, false, offset), ErrorKind::argument);
            }
            EXPECT_EQ(kind_of(file.byte_offset(last)), ErrorKind::none);
            EXPECT_EQ(kind_of(file.byte_offset(last + 1)), ErrorKind::argument);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, FarData, testing::ValuesIn(method_names()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace oratorio::test::far_data_test
