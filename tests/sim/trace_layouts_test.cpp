// SPDX-License-Identifier: BSD-3-Clause
// The layouts in a trace, which describe an access well enough to repeat the access.
#include "sim/traced.hpp"
#include "type/shape_codec.hpp"

namespace oratorio::test::trace_layouts_test {
namespace {

/// Returns a shape in the text form that a trace uses.
std::string base64_of(const ShapePtr& shape) {
    std::vector<std::byte> code;
    encode({shape, 0, 0, 1}, code);
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    std::uint32_t bits = 0;
    int held = 0;
    for (const std::byte byte : code) {
        bits = bits << 8 | static_cast<std::uint32_t>(byte);
        for (held += 8; held >= 6; held -= 6) text += digits[bits >> (held - 6) & 63];
    }
    if (held > 0) text += digits[bits << (6 - held) & 63];
    return text.append((4 - text.size() % 4) % 4, '=');
}

/// Returns a shape of blocks of 8 bytes at irregular offsets.
ShapePtr odd_shape(Offset step) {
    std::vector<Offset> offsets;
    for (Offset i = 0; i < 20; ++i) offsets.push_back(i * step + i * i % 5);
    return Shape::blocks(Shape::run(8), std::move(offsets));
}

TEST(Trace, HoldsTheShapesOfCollectiveAccessesOnceForAllRanks) {
    constexpr int kRanks = 3;
    const Folder folder;
    with_file(kRanks, traced(folder, folder.file("trace"), {{"oratorio_method", "two_phase"}}),
              [](File& file, Rank rank) {
                  for (const Offset step : {32, 32, 40}) {
                      const auto view = View::make(1000 * rank, 1, odd_shape(step), 1000 * kRanks,
                                                   true, "native");
                      ASSERT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
                      move(file, Direction::write, true, 160, 0);
                      move(file, Direction::write, false, 160, 0);
                  }
              });
    const Json trace = read_trace(folder);
    std::map<long long, std::string> shapes;
    for (const Json& event : events_of(trace, "name", "oratorio_shape"))
        shapes[event.at("args").at("shape").get<long long>()] =
            event.at("args").at("bytes").get<std::string>();
    EXPECT_EQ(shapes.size(), 3u) << "two views, and contiguous memory";
    std::vector<Offset> steps(kRanks);
    for (const Json& access : events_of(trace, "cat", "access")) {
        const Json& args = access.at("args");
        EXPECT_EQ(args.at("view").contains("shape"), args.contains("collective"));
        EXPECT_EQ(args.at("memory").contains("shape"), args.contains("collective"));
        if (!args.contains("collective")) continue;
        const Offset step = args.at("collective").get<int>() < 2 ? 32 : 40;
        EXPECT_EQ(shapes.at(args.at("view").at("shape").get<long long>()),
                  base64_of(odd_shape(step)));
        EXPECT_EQ(shapes.at(args.at("memory").at("shape").get<long long>()),
                  base64_of(Shape::run(160)));
    }
    EXPECT_EQ(events_of(trace, "name", "oratorio_end")[0].at("args").at("dropped_layouts"), 0);
}

TEST(Trace, LayoutsThatDoNotFitAreCounted) {
    const Folder folder;
    const auto most = Recorder::limits_for(1).shapes;
    with_file(1, traced(folder, folder.file("trace"), {{"oratorio_method", "two_phase"}}),
              [&](File& file, Rank) {
                  for (std::size_t i = 0; i < most + 4; ++i)
                      move(file, Direction::write, true, static_cast<Bytes>(1 + i), 0);
              });
    const Json trace = read_trace(folder);
    EXPECT_EQ(events_of(trace, "name", "oratorio_shape").size(), most);
    // The view's shape is not recorded separately, because the first access's memory has the same
    // shape.
    EXPECT_EQ(events_of(trace, "name", "oratorio_end")[0].at("args").at("dropped_layouts"), 4);
    EXPECT_EQ(events_of(trace, "name", "oratorio_dropped")[0].at("args").at("layouts"), 4);
}

TEST(Pattern, IsShortForRegularLayouts) {
    // The shape is a block of 4 x 6 x 8 bytes in an array of 10 x 20 x 30 bytes, from (1, 2, 3) on.
    const ShapePtr rows = Shape::strided(Shape::run(8), 6, 30);
    const ShapePtr block = Shape::moved(Shape::strided(rows, 4, 600), 663);
    const Pattern pattern = pattern_of({block, 6000, 100, 1});
    EXPECT_EQ(pattern.displacement, 100);
    EXPECT_EQ(pattern.extent, 6000);
    EXPECT_EQ(pattern.tiles, 1);
    EXPECT_EQ(pattern.tile_bytes, 192);
    EXPECT_EQ(pattern.pieces, 24);
    EXPECT_EQ(pattern.first, 663);
    EXPECT_EQ(pattern.block, 8);
    ASSERT_EQ(pattern.levels, 2);
    EXPECT_EQ(pattern.level[0].count, 4);
    EXPECT_EQ(pattern.level[0].stride, 600);
    EXPECT_EQ(pattern.level[1].count, 6);
    EXPECT_EQ(pattern.level[1].stride, 30);
}

TEST(Pattern, IsTheSizeForOtherLayouts) {
    const ShapePtr odd = Shape::blocks(Shape::run(8), {0, 10, 70});
    const Pattern pattern = pattern_of({odd, 100, 0, Layout::unbounded});
    EXPECT_EQ(pattern.levels, -1);
    EXPECT_EQ(pattern.tiles, -1);
    EXPECT_EQ(pattern.tile_bytes, 24);
    EXPECT_EQ(pattern.pieces, 3);
}

}  // namespace
}  // namespace oratorio::test::trace_layouts_test
