// SPDX-License-Identifier: BSD-3-Clause
// Tests of reading a recorded collective access from a file.
#include "count/recorded.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "support/temporary_folder.hpp"
#include "support/typemap_oracle.hpp"
#include "type/cursor.hpp"
#include "type/shape_codec.hpp"

namespace oratorio::count {
namespace {

using test::TypemapGenerator;

/// Returns the pieces of a layout in data order. Pieces that touch are joined.
std::vector<Extent> pieces_of(const Layout& layout, Bytes from, Bytes bytes) {
    std::vector<Extent> pieces;
    Cursor cursor(layout);
    cursor.seek_size(from);
    for (Bytes left = bytes; left > 0;) {
        const StridedRun run = cursor.next(left);
        left -= run.bytes();
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Offset begin = run.offset + i * run.stride;
            if (!pieces.empty() && pieces.back().end == begin)
                pieces.back().end += run.length;
            else
                pieces.push_back({begin, begin + run.length});
        }
    }
    return pieces;
}

TEST(Recorded, ASliceIsTheSameDataInTheSameOrder) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        Layout view = TypemapGenerator(seed, TypemapGenerator::Style::ascending).layout(4).layout;
        view.count = Layout::unbounded;
        const Bytes tile = view.shape->size();
        if (tile == 0) continue;
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + view.shape->describe());
        for (const Bytes from : {Bytes{0}, tile / 2, tile, 2 * tile + 1}) {
            for (const Bytes bytes : {Bytes{1}, (tile + 1) / 2, tile, 3 * tile, 3 * tile + 1}) {
                const Layout slice = slice_of(view, from, bytes);
                ASSERT_EQ(slice.size(), bytes);
                ASSERT_EQ(pieces_of(slice, 0, bytes), pieces_of(view, from, bytes));
            }
        }
    }
}

TEST(Recorded, WholeTilesStayOneShape) {
    const ShapePtr shape = Shape::strided(Shape::run(8), 1000, 32);
    const Layout view{shape, 32'000, 100, Layout::unbounded};
    const Layout slice = slice_of(view, 16'000, 24'000);
    EXPECT_EQ(slice.shape, shape);
    EXPECT_EQ(slice.origin, 64'100);
    EXPECT_EQ(slice.count, 3);
    const Layout bytes = slice_of({Shape::run(1), 1, 7, Layout::unbounded}, 1000, 1 << 30);
    EXPECT_EQ(bytes.shape->pieces(), 1);
    EXPECT_EQ(bytes.origin, 1007);
}

/// Returns a recorded access of two ranks with alternate blocks of 8 bytes, as the numbers that
/// lab/oratorio_lab/trace/accesses.py writes.
std::vector<std::int64_t> two_ranks() {
    std::vector<std::int64_t> numbers{0x314343415441524f, 2, 2};
    for (const Bytes bytes : {8, 800}) {
        std::vector<std::byte> code;
        encode({Shape::run(bytes), 0, 0, 1}, code);
        numbers.push_back(std::ssize(code));
        code.resize((code.size() + 7) / 8 * 8);
        for (std::size_t at = 0; at < code.size(); at += 8) {
            std::int64_t word = 0;
            std::memcpy(&word, code.data() + at, sizeof word);
            numbers.push_back(word);
        }
    }
    numbers.insert(numbers.end(), {1, 0});
    for (const std::int64_t rank : {0, 1})
        numbers.insert(numbers.end(), {8 * rank, 16, 0, 80, 0, 800, 1, 1});
    return numbers;
}

class RecordedFile : public ::testing::Test {
  protected:
    std::string write(const std::vector<std::int64_t>& numbers) {
        return folder_.make("recorded", {reinterpret_cast<const char*>(numbers.data()),
                                         numbers.size() * sizeof(std::int64_t)});
    }
    std::string complaint(const std::vector<std::int64_t>& numbers, int ranks = 2) {
        try {
            const Recorded read(write(numbers), ranks);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }

  private:
    test::TemporaryFolder folder_;
};

TEST_F(RecordedFile, IsReadAsItWasWritten) {
    const std::string path = write(two_ranks());
    EXPECT_TRUE(Recorded::is_one(path));
    const Recorded recorded(path, 2);
    for (const Rank rank : {0, 1}) {
        const Layout& layout = recorded.layout_of(rank);
        EXPECT_EQ(layout.size(), 800);
        EXPECT_EQ(layout.origin, 8 * rank + 160) << "80 bytes were before it";
        EXPECT_EQ(layout.shape->describe(), Shape::run(8)->describe());
    }
}

TEST_F(RecordedFile, ReportsErrorsInTheFile) {
    const auto numbers = two_ranks();
    EXPECT_EQ(complaint(numbers), "");
    EXPECT_EQ(complaint(numbers, 4), "the access was recorded on 2 ranks, not 4");
    EXPECT_NE(complaint({1, 2, 3}).find("is not a file of recorded accesses"), std::string::npos);
    for (std::size_t cut = 1; cut < numbers.size(); ++cut) {
        const std::vector<std::int64_t> less(numbers.begin(),
                                             numbers.begin() + static_cast<std::ptrdiff_t>(cut));
        EXPECT_EQ(complaint(less), "the file of recorded accesses isn't complete") << cut;
    }
    for (std::size_t at = 3; at < numbers.size(); ++at) {
        for (const std::int64_t odd : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
            auto damaged = numbers;
            damaged[at] = odd;
            (void)complaint(damaged);  // any message is right, as long as the call returns
        }
    }
    auto damaged = numbers;
    damaged[4] = -1;
    EXPECT_EQ(complaint(damaged), "the recorded accesses are damaged: shape 0");
    damaged = numbers;
    damaged[damaged.size() - 2] = 2;
    EXPECT_EQ(complaint(damaged), "the recorded accesses are damaged: there is no such shape");
    damaged = numbers;
    damaged.back() = INT64_MAX;
    EXPECT_EQ(complaint(damaged), "the recorded accesses are damaged: numbers that are too large");
}

}  // namespace
}  // namespace oratorio::count
