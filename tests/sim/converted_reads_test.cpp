// SPDX-License-Identifier: BSD-3-Clause
// Reads of data in another representation, where the file ends inside the access. Every element
// that is in the file arrives, whatever the order of the tiles. The memory of all other elements is
// unchanged, and the count is the number of elements that arrived.
#include <gtest/gtest.h>

#include "sim/file_ranks.hpp"
#include "support/random.hpp"
#include "support/typemap_oracle.hpp"
#include "type/external32.hpp"

namespace oratorio::test::converted_reads_test {
namespace {

constexpr Bytes kInFile = 4;
constexpr Bytes kInMemory = 8;
constexpr std::int64_t kUntouched = 0x1122334455667788;
const Element kLong{ScalarKind::signed_long, 1, kInMemory, kInFile, 1};

/// A filetype of whole elements, and the offsets of these elements. Tiles may lie inside each
/// other.
struct RandomView {
    ShapePtr shape = Shape::empty();
    Bytes extent = 0;
    std::vector<Offset> elements;  ///< offsets of the elements within one tile
};

RandomView random_view(Random& random) {
    RandomView view;
    const auto count = static_cast<std::size_t>(random.between(1, 4));
    std::vector<Offset> offsets;
    Offset at = random.between(0, 6);
    for (std::size_t i = 0; i < count; ++i) {
        offsets.push_back(at);
        // Elements may overlap, because the file is only read through this view.
        at += random.chance(20) ? random.between(1, 3) : kInFile + random.between(0, 60);
    }
    view.elements = offsets;
    view.shape = Shape::blocks(Shape::run(kInFile), std::move(offsets));
    view.extent = random.between(1, view.shape->span().end + 10);
    return view;
}

std::int64_t value_at(const std::string& content, Offset at) {
    std::uint32_t word = 0;
    std::memcpy(&word, content.data() + at, sizeof word);
    return static_cast<std::int32_t>(__builtin_bswap32(word));
}

void read_and_compare(File& file, const RandomView& view, Random& random,
                      const std::string& content, bool collective) {
    const auto count = static_cast<std::size_t>(random.between(1, 40));
    const Offset first = random.between(0, 9);
    std::vector<std::int64_t> memory(count, kUntouched);
    std::vector<std::int64_t> wanted = memory;
    Bytes bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t element = i + static_cast<std::size_t>(first);
        const auto tile = static_cast<Offset>(element / view.elements.size());
        const Offset at = tile * view.extent + view.elements[element % view.elements.size()];
        if (at + kInFile > std::ssize(content)) continue;
        wanted[i] = value_at(content, at);
        bytes += kInMemory;
    }
    AccessCall call;
    call.direction = Direction::read;
    call.collective = collective;
    call.at = Positioning::explicit_offset;
    call.offset = first;
    call.buffer = reinterpret_cast<std::byte*>(memory.data());
    call.memory = Layout{Shape::run(kInMemory), kInMemory, 0, static_cast<std::int64_t>(count)};
    call.conversion = *external32_conversion(call.memory, Signature::of(kLong));
    const Outcome outcome = file.access(call);
    ASSERT_EQ(outcome.error.kind, ErrorKind::none) << outcome.error.what;
    ASSERT_EQ(memory, wanted);
    ASSERT_EQ(outcome.bytes, bytes);
}

TEST(ConvertedReads, GiveEveryElementThatIsInTheFileAndNoOther) {
    const Folder folder;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random length(seed);
        std::string content(static_cast<std::size_t>(length.between(0, 700)), '\0');
        for (char& byte : content) byte = static_cast<char>(length.between(1, 120));
        const bool collective = seed % 2 == 0;
        with_file(collective ? 2 : 1, call_of(folder.make("data", content), kRead),
                  [&](File& file, Rank rank) {
                      Random random(seed * 3 + static_cast<std::uint64_t>(rank));
                      const RandomView view = random_view(random);
                      auto made =
                          View::make(0, kInFile, view.shape, view.extent, false, "external32");
                      ASSERT_TRUE(made) << made.error().what;
                      ASSERT_TRUE(file.set_view(*made, {}));
                      read_and_compare(file, view, random, content, collective);
                  });
        if (testing::Test::HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace oratorio::test::converted_reads_test
