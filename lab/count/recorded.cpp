// SPDX-License-Identifier: BSD-3-Clause
#include "count/recorded.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

#include "count/number_file.hpp"
#include "type/cursor.hpp"
#include "type/shape_codec.hpp"

namespace oratorio::count {

namespace {

constexpr std::int64_t kAccessesMagic = 0x314343415441524f;  // "ORATACC1"
constexpr std::int64_t kMost = std::int64_t{1} << 60;

std::runtime_error damaged(const std::string& what) {
    return std::runtime_error("the recorded accesses are damaged: " + what);
}

ShapePtr read_shape(NumberFile& in, std::int64_t number) {
    const Bytes size = in.number();
    if (size < 0 || size > kMost) throw damaged("shape " + std::to_string(number));
    const std::vector<std::int64_t> words = in.numbers((size + 7) / 8);
    const auto bytes = std::as_bytes(std::span(words)).first(static_cast<std::size_t>(size));
    auto layout = decode(bytes);
    if (!layout) throw damaged("shape " + std::to_string(number));
    return std::move(layout->shape);
}

std::vector<ShapePtr> read_shapes(NumberFile& in) {
    std::vector<ShapePtr> shapes;
    const std::int64_t count = in.number();
    for (std::int64_t i = 0; i < count; ++i) shapes.push_back(read_shape(in, i));
    return shapes;
}

const ShapePtr& find(const std::vector<ShapePtr>& shapes, std::int64_t number) {
    if (number < 0 || number >= std::ssize(shapes)) throw damaged("there is no such shape");
    return shapes[static_cast<std::size_t>(number)];
}

/// Returns true if the view is not empty and its offsets and sizes are at most kMost.
bool fits(const Layout& view, Bytes from, Bytes bytes) {
    for (const std::int64_t number : {from, bytes, view.origin})
        if (number < 0 || number > kMost) return false;
    if (view.extent < -kMost || view.extent > kMost || view.shape->size() == 0) return false;
    const double tiles =
        static_cast<double>(from + bytes) / static_cast<double>(view.shape->size());
    const double end = static_cast<double>(view.origin) + tiles * static_cast<double>(view.extent);
    return end > -static_cast<double>(kMost) && end < static_cast<double>(kMost);
}

/// Reads the layout of one rank's data, from the numbers that trace/accesses.py writes.
Layout read_layout(NumberFile& in, const std::vector<ShapePtr>& shapes) {
    std::array<std::int64_t, 8> told{};
    for (std::int64_t& number : told) number = in.number();
    const auto& [displacement, extent, shape, from, memory_origin, memory_extent, memory, tiles] =
        told;
    if (tiles == 0) return {};
    const Layout view{find(shapes, shape), extent, displacement, Layout::unbounded};
    Bytes bytes = 0;
    if (tiles < 0 || __builtin_mul_overflow(find(shapes, memory)->size(), tiles, &bytes) ||
        !fits(view, from, bytes))
        throw damaged("numbers that are too large");
    return slice_of(view, from, bytes);
}

/// Collects the parts that a tile consists of.
class Parts {
  public:
    void add(ShapePtr shape, Offset at) {
        shapes_.push_back(std::move(shape));
        offsets_.push_back(at);
    }
    void add_pieces(const Layout& view, Bytes from, Bytes bytes) {
        Cursor cursor(view);
        cursor.seek_size(from);
        while (bytes > 0) {
            const StridedRun run = cursor.next(bytes);
            add(Shape::strided(Shape::run(run.length), run.count, run.stride), run.offset);
            bytes -= run.bytes();
        }
    }
    ShapePtr done() { return Shape::mixed(std::move(shapes_), std::move(offsets_)); }

  private:
    std::vector<ShapePtr> shapes_;
    std::vector<Offset> offsets_;
};

}  // namespace

Layout slice_of(const Layout& view, Bytes from, Bytes bytes) {
    const Bytes tile = view.shape->size();
    if (view.shape->kind() == Shape::Kind::run && view.extent == tile)
        return {Shape::run(bytes), bytes, view.origin + from, 1};
    const auto origin_of = [&](std::int64_t number) { return view.origin + number * view.extent; };
    if (from % tile == 0 && bytes % tile == 0)
        return {view.shape, view.extent, origin_of(from / tile), bytes / tile};
    Parts parts;
    const std::int64_t first = (from + tile - 1) / tile;  // [first, last): whole tiles
    const std::int64_t last = (from + bytes) / tile;
    if (first > last) {
        parts.add_pieces(view, from, bytes);
    } else {
        parts.add_pieces(view, from, first * tile - from);
        if (last > first)
            parts.add(Shape::strided(view.shape, last - first, view.extent), origin_of(first));
        parts.add_pieces(view, last * tile, from + bytes - last * tile);
    }
    ShapePtr shape = parts.done();
    const Bytes extent = shape->span().end;
    return {std::move(shape), extent, 0, 1};
}

bool Recorded::is_one(const std::string& path) {
    return NumberFile::begins_with(path, kAccessesMagic);
}

Recorded::Recorded(const std::string& path, int ranks) {
    NumberFile in(path, kAccessesMagic, "recorded accesses");
    const std::int64_t recorded = in.number();
    if (recorded != ranks)
        throw std::runtime_error("the access was recorded on " + std::to_string(recorded) +
                                 (recorded == 1 ? " rank, not " : " ranks, not ") +
                                 std::to_string(ranks));
    const std::vector<ShapePtr> shapes = read_shapes(in);
    if (in.number() < 1) throw damaged("there is no access");
    (void)in.number();  // skips the direction
    for (Rank rank = 0; rank < ranks; ++rank) layouts_.push_back(read_layout(in, shapes));
}

}  // namespace oratorio::count
