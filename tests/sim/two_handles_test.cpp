// SPDX-License-Identifier: BSD-3-Clause
// Two handles on one file. Only a handle that was opened while no other one could write fills holes
// by data sieving; any other handle writes its data piece by piece
// (docs/internals/decisions/holes-and-locks.md).
#include "sim/file_ranks.hpp"

namespace oratorio::test::two_handles_test {
namespace {

constexpr Bytes kPieces = 2000;
constexpr Bytes kPiece = 4;

/// Writes all ranks' pieces, with a hole of the same length after each.
void write_with_holes(File& file, Rank rank, int ranks) {
    const Bytes stride = 2 * kPiece * ranks;
    View view = View::bytes();
    view.file = {Shape::run(kPiece), stride, 2 * kPiece * rank, Layout::unbounded};
    EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
    std::vector<std::byte> data(static_cast<std::size_t>(kPieces * kPiece), std::byte{'n'});
    const Outcome outcome = file.access(call_for(Direction::write, data, true));
    EXPECT_EQ(outcome.error.kind, ErrorKind::none);
    EXPECT_EQ(outcome.bytes, kPieces * kPiece);
}

std::uint64_t holes_read(const std::vector<Stats>& stats) {
    std::uint64_t sum = 0;
    for (const Stats& one : stats) sum += one.hole_reads;
    return sum;
}

class TwoHandles : public testing::TestWithParam<std::string> {};

TEST_P(TwoHandles, OnlyAHandleWithoutOthersFillsHoles) {
    constexpr int kRanks = 3;
    const Folder folder;
    const std::string content(static_cast<std::size_t>(2 * kPiece * kRanks * kPieces), 'o');
    const OpenCall call =
        call_of(folder.make("data", content), kReadWrite, {{"oratorio_method", GetParam()}});
    std::vector<Stats> first(kRanks), second(kRanks);
    on_ranks(kRanks, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        auto one = open_on(transport, call);
        auto other = open_on(transport, call);
        EXPECT_EQ(kind_of(one), ErrorKind::none);
        EXPECT_EQ(kind_of(other), ErrorKind::none);
        write_with_holes(**one, rank, kRanks);
        write_with_holes(**other, rank, kRanks);
        first[static_cast<std::size_t>(rank)] = (*one)->stats();
        second[static_cast<std::size_t>(rank)] = (*other)->stats();
        EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
        EXPECT_EQ(kind_of((*one)->close()), ErrorKind::none);
        return 0;
    });
    EXPECT_GT(holes_read(first), 0U);
    EXPECT_EQ(holes_read(second), 0U);
    std::string expected;
    for (Bytes piece = 0; piece < kPieces * kRanks; ++piece) expected += "nnnnoooo";
    EXPECT_EQ(folder.read("data"), expected);
}

// One of the two earlier handles is closed, and the other is only for reading.
TEST_P(TwoHandles, HandlesThatWriteNothingMoreDoNotCount) {
    constexpr int kRanks = 2;
    const Folder folder;
    const std::string path = folder.file("data");
    std::vector<Stats> last(kRanks);
    on_ranks(kRanks, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        auto before = open_on(transport, call_of(path, kCreate));
        EXPECT_EQ(kind_of((*before)->close()), ErrorKind::none);
        auto reader = open_on(transport, call_of(path, kRead));
        auto writer =
            open_on(transport, call_of(path, kReadWrite, {{"oratorio_method", GetParam()}}));
        write_with_holes(**writer, rank, kRanks);
        last[static_cast<std::size_t>(rank)] = (*writer)->stats();
        EXPECT_EQ(kind_of((*writer)->close()), ErrorKind::none);
        EXPECT_EQ(kind_of((*reader)->close()), ErrorKind::none);
        return 0;
    });
    EXPECT_GT(holes_read(last), 0U);
}

INSTANTIATE_TEST_SUITE_P(Methods, TwoHandles,
                         testing::Values("two_phase", "cb_cyclic", "shared_buffer", "sieve"));

}  // namespace
}  // namespace oratorio::test::two_handles_test
