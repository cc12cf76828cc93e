// SPDX-License-Identifier: BSD-3-Clause
// Collective accesses in which the memory of some ranks is a device's. All ranks then move their
// data piece by piece.
#include <cstring>

#include "sim/device_case.hpp"
#include "support/method_names.hpp"

namespace oratorio::test {
namespace {

ORATORIO_ON_BOTH_DRIVERS;

TEST_P(OnDevice, CollectiveAccessesAreCopiedOncePerPiece) {
    for (const int ranks : kRankCounts) {
        constexpr Bytes kBytes = 100'000;
        std::vector<std::byte*> out;
        std::vector<std::byte*> in;
        for (int i = 0; i < ranks; ++i) {
            out.push_back(filled(kBytes, i));
            in.push_back(empty(kBytes));
        }
        with_file(ranks, opening(), [&](File& file, Rank rank) {
            const auto mine = static_cast<std::size_t>(rank);
            // The ranks' blocks lie in turn in the file, so that the ranks must exchange data.
            View view = View::bytes();
            view.file = Layout{Shape::run(100), 100 * ranks, 100 * rank, Layout::unbounded};
            ASSERT_TRUE(file.set_view(view, {}).ok());
            expect_done(file.access(call(kWriting, out[mine], kBytes, true)), kBytes);
            expect_done(file.access(call(kReading, in[mine], kBytes, true)), kBytes);
        });
        EXPECT_EQ(device_.counts().copies, 2 * ranks);
        EXPECT_EQ(device_.counts().bytes, 2 * kBytes * ranks);
        device_.counts() = {};
        for (int i = 0; i < ranks; ++i)
            EXPECT_TRUE(is_filled(in[static_cast<std::size_t>(i)], kBytes, i));
    }
}

/// At the end of each piece, the ranks learn whether any rank has another piece.
TEST_P(OnDevice, LargeAccessesGoInPiecesAndRanksWithFewerTakePartInTheOthers) {
    const std::vector<Bytes> sizes = {2 * kPiece + 500, 1000, kPiece + 5, 0};
    const std::vector<Offset> places = {0, sizes[0], sizes[0] + sizes[1], 0};
    const std::vector<std::byte*> out = {filled(sizes[0], 3), nullptr, filled(sizes[2], 4),
                                         nullptr};
    const std::vector<std::byte*> in = {empty(sizes[0]), nullptr, empty(sizes[2]), nullptr};
    with_file(4, opening(), [&](File& file, Rank rank) {
        const auto mine = static_cast<std::size_t>(rank);
        std::vector<std::byte> host(static_cast<std::size_t>(sizes[mine]), std::byte{7});
        const auto form = [&](Direction direction, const std::vector<std::byte*>& device) {
            return device[mine] != nullptr
                       ? call(direction, device[mine], sizes[mine], true, places[mine])
                       : call_for(direction, host, true, kAt, places[mine]);
        };
        for (int again = 0; again < 2; ++again) {
            expect_done(file.access(form(kWriting, out)), sizes[mine]);
            expect_done(file.access(form(kReading, in)), sizes[mine]);
        }
        EXPECT_EQ(host, std::vector(host.size(), std::byte{7}));
    });
    EXPECT_EQ(device_.counts().copies, 2 * 2 * (3 + 2));
    EXPECT_EQ(device_.counts().bytes, 2 * 2 * (sizes[0] + sizes[2]));
    EXPECT_EQ(device_.counts().pins, 2);
    EXPECT_TRUE(is_filled(in[0], sizes[0], 3));
    EXPECT_TRUE(is_filled(in[2], sizes[2], 4));
    const std::string content = folder_.read("data");
    ASSERT_EQ(std::ssize(content), places[2] + sizes[2]);
    EXPECT_TRUE(holds(content, 0, sizes[0], 3));
    EXPECT_EQ(content.substr(static_cast<std::size_t>(places[1]), 1000), std::string(1000, '\7'));
    EXPECT_TRUE(holds(content, static_cast<std::size_t>(places[2]), sizes[2], 4));
}

// Under the kept plan no rank waits for another, so the other ranks don't take part in the pieces
// that follow the first one.
TEST_P(OnDevice, ARankReadsItsFurtherPiecesAloneByAPlanInWhichNoRankWaits) {
    constexpr Bytes kLong = 2 * kPiece + 1234;
    std::string content;
    for (Bytes i = 0; i < kLong; ++i) content += static_cast<char>(byte_at(i, 3));
    folder_.make("data", content);
    with_file(3, opening({{"oratorio_method", "list_io"}}), [&](File& file, Rank rank) {
        for (const bool longer : {false, false, true, false}) {
            const Bytes bytes = longer && rank == 1 ? kLong : kPiece;
            std::byte* const memory = empty(bytes);
            expect_done(file.access(call(kReading, memory, bytes, true)), bytes);
            EXPECT_TRUE(is_filled(memory, bytes, 3)) << "rank " << rank;
        }
    });
}

TEST_P(OnDevice, AReadOfAllRanksEndsWhereTheFileDoes) {
    std::byte* const out = filled(kPiece + 100, 9);
    std::byte* const in = filled(3 * kPiece, 1);
    with_file(2, opening(), [&](File& file, Rank rank) {
        expect_done(file.access(call(kWriting, out, rank == 0 ? kPiece + 100 : 0, true)),
                    rank == 0 ? kPiece + 100 : 0);
        std::vector<std::byte> host(10);
        expect_done(file.access(rank == 0 ? call(kReading, in, 3 * kPiece, true)
                                          : call_for(kReading, host, true, kAt, 0)),
                    rank == 0 ? kPiece + 100 : 10);
    });
    EXPECT_TRUE(is_filled(in, kPiece + 100, 9));
    EXPECT_EQ(device_.data(in)[kPiece + 100], byte_at(kPiece + 100, 1));
}

TEST_P(OnDevice, EachMethodTakesPiecesOneAfterTheOther) {
    constexpr Bytes kBytes = kPiece + 8192;
    constexpr Bytes kBlock = 4096;
    const std::vector<std::byte*> out = {filled(kBytes, 1), filled(kBytes, 2)};
    const std::vector<std::byte*> in = {empty(kBytes), empty(kBytes)};
    for (const std::string& method : method_names()) {
        SCOPED_TRACE(method);
        for (std::byte* const one : in) std::memset(device_.data(one), 0, kBytes);
        with_file_on_node(2, opening({{"oratorio_method", method}}), [&](File& file, Rank rank) {
            const auto mine = static_cast<std::size_t>(rank);
            View view = View::bytes();
            view.file = Layout{Shape::run(kBlock), 2 * kBlock, kBlock * rank, Layout::unbounded};
            ASSERT_TRUE(file.set_view(view, {}).ok());
            expect_done(file.access(call(kWriting, out[mine], kBytes, true)), kBytes);
            expect_done(file.access(call(kReading, in[mine], kBytes, true)), kBytes);
        });
        EXPECT_TRUE(is_filled(in[0], kBytes, 1));
        EXPECT_TRUE(is_filled(in[1], kBytes, 2));
    }
}

/// Each method accesses the memory of a call in its own way, or lets other ranks access it. None
/// may touch device memory directly.
TEST_P(OnDevice, NoMethodTouchesTheMemory) {
    for (const std::string& method : method_names()) {
        SCOPED_TRACE(method);
        constexpr Bytes kBytes = 50'000;
        std::vector<std::byte*> memory;
        for (int i = 0; i < 6; ++i)
            memory.push_back(i < 3 ? filled(2 * kBytes, i) : empty(2 * kBytes));
        const OpenCall open = opening({{"oratorio_method", method}});
        with_file_on_node(3, open, [&](File& file, Rank rank) {
            View view = View::bytes();
            view.file = Layout{Shape::run(50), 150, 50 * rank, Layout::unbounded};
            ASSERT_TRUE(file.set_view(view, {}).ok());
            for (const bool collective : {true, false}) {
                const auto form = [&](Direction direction, int which) {
                    std::byte* const mine = memory[static_cast<std::size_t>(which)];
                    return strided(call(direction, mine, kBytes, collective), 500, 100, 1000);
                };
                expect_done(file.access(form(kWriting, rank)), kBytes);
                expect_done(file.access(form(kReading, 3 + rank)), kBytes);
            }
        });
        for (std::size_t i = 0; i < 3; ++i)
            for (int row = 0; row < 100; ++row)
                ASSERT_EQ(std::memcmp(device_.data(memory[i]) + 1000 * row,
                                      device_.data(memory[3 + i]) + 1000 * row, 500),
                          0);
    }
}

TEST_P(OnDevice, RanksWithAndWithoutADeviceWorkTogether) {
    constexpr Bytes kBytes = 10'000;
    std::byte* const out = filled(kBytes, 4);
    with_file(3, opening(), [&](File& file, Rank rank) {
        std::vector<std::byte> mine(static_cast<std::size_t>(kBytes), std::byte(rank));
        const AccessCall form = rank == 1 ? call(kWriting, out, kBytes, true, kBytes * rank)
                                          : call_for(kWriting, mine, true, kAt, kBytes * rank);
        expect_done(file.access(form), kBytes);
    });
    const std::string content = folder_.read("data");
    ASSERT_EQ(std::ssize(content), 3 * kBytes);
    EXPECT_TRUE(holds(content, kBytes, kBytes, 4));
    EXPECT_EQ(content.substr(2 * kBytes), std::string(kBytes, '\2'));
}

/// The second operation begins once the first is done.
TEST_P(OnDevice, NonblockingAccessesOfAllRanksDontMixTheirPieces) {
    constexpr Bytes kBytes = 2 * kPiece;
    const std::vector<std::byte*> out = {filled(kBytes, 1), filled(kBytes, 2)};
    std::byte* const in = empty(kBytes);
    with_file(2, opening(), [&](File& file, Rank rank) {
        const auto mine = static_cast<std::size_t>(rank);
        std::vector<std::byte> host(static_cast<std::size_t>(kBytes));
        const OperationPtr first =
            file.start(call(kWriting, out[mine], kBytes, true, rank * kBytes));
        const Offset other = (1 - rank) * kBytes;
        const OperationPtr second =
            file.start(rank == 0 ? call(kReading, in, kBytes, true, other)
                                 : call_for(kReading, host, true, kAt, other));
        expect_done(file.finish(second), kBytes);
        expect_done(file.finish(first), kBytes);
        if (rank == 1) {
            EXPECT_EQ(std::memcmp(host.data(), device_.data(out[0]), host.size()), 0);
        }
    });
    EXPECT_TRUE(is_filled(in, kBytes, 2));
}

}  // namespace
}  // namespace oratorio::test
