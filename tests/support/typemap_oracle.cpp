// SPDX-License-Identifier: BSD-3-Clause
#include "support/typemap_oracle.hpp"

#include <algorithm>
#include <numeric>

namespace oratorio::test {

namespace {

constexpr std::size_t kMostBytes = 6000;

void append(Typemap& all, const Typemap& part, Offset at) {
    for (const Offset byte : part) all.push_back(byte + at);
}

Extent span_of(const Typemap& bytes) {
    if (bytes.empty()) return {};
    const auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
    return {*low, *high + 1};
}

TypedMap basic(Bytes size) {
    TypedMap type{Shape::run(size), Typemap(static_cast<std::size_t>(size))};
    std::iota(type.bytes.begin(), type.bytes.end(), Offset{0});
    return type;
}

TypedMap strided(const TypedMap& child, std::int64_t count, Bytes stride) {
    TypedMap type{Shape::strided(child.shape, count, stride), {}};
    for (std::int64_t i = 0; i < count; ++i) append(type.bytes, child.bytes, i * stride);
    return type;
}

TypedMap moved_by(const TypedMap& child, Offset by) {
    TypedMap type{Shape::moved(child.shape, by), {}};
    append(type.bytes, child.bytes, by);
    return type;
}

}  // namespace

std::int64_t TypemapGenerator::between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

TypedMap TypemapGenerator::datatype(int depth) {
    TypedMap type;
    const std::int64_t choice = depth <= 1 ? between(0, 3) : between(2, 10);
    if (choice <= 1) {
        constexpr Bytes kSizes[] = {0, 1, 2, 3, 4, 8, 8, 16, 40};
        type = basic(kSizes[between(0, 8)]);
    } else if (choice == 2) {
        type = listed_runs();
    } else if (choice == 3) {
        type = between(0, 1) == 0 ? subarray() : cyclic();
    } else if (choice <= 5) {
        type = vector(depth);
    } else if (choice <= 7) {
        type = listed_blocks(depth);
    } else if (choice <= 9) {
        type = structure(depth);
    } else {
        type = moved(depth);
    }
    return type.bytes.size() <= kMostBytes ? type : basic(8);
}

LaidOutMap TypemapGenerator::layout(int depth) {
    const TypedMap type = datatype(depth);
    constexpr Offset kOrigins[] = {0, 0, 13, (Offset{1} << 33) + 5, Offset{1} << 60};
    LaidOutMap map;
    map.layout.shape = type.shape;
    map.layout.extent = stride_for(type);
    map.layout.origin = kOrigins[between(0, 4)];
    map.layout.count = between(0, 5);
    for (std::int64_t tile = 0; tile < map.layout.count; ++tile)
        append(map.bytes, type.bytes, map.layout.origin + tile * map.layout.extent);
    return map;
}

/// Returns a stride for copies of `child`: often one that makes the copies touch or line up, else
/// any that the generator's style allows.
Bytes TypemapGenerator::stride_for(const TypedMap& child) {
    const Bytes length = span_of(child.bytes).length();
    switch (between(0, style_ == Style::ascending ? 3 : 7)) {
        case 0:
            return length;
        case 1:
            return length + between(1, 9);
        case 2:
            return length * 2;
        case 3:
            return std::max<Bytes>(length, child.shape->count() * child.shape->stride());
        case 4:
            return std::ssize(child.bytes);
        case 5:
            return 0;
        case 6:
            return -length - between(0, 5);
        default:
            return between(-40, 40);
    }
}

/// Returns an offset at which to place `part` after data that ends at `end`. It is sometimes
/// directly after the data, and with Style::any it may overlap.
Offset TypemapGenerator::place_after(Offset end, const TypedMap& part) {
    const Offset touching = end - span_of(part.bytes).begin;
    if (style_ == Style::any && between(0, 3) == 0) return touching + between(-60, 60);
    return touching + (between(0, 2) == 0 ? 0 : between(0, 20));
}

TypedMap TypemapGenerator::vector(int depth) {
    const TypedMap child = datatype(depth - 1);
    return strided(child, between(0, 6), stride_for(child));
}

TypedMap TypemapGenerator::listed_blocks(int depth) {
    const TypedMap child = datatype(depth - 1);
    TypedMap type;
    std::vector<Offset> offsets;
    Offset end = between(0, 8);
    for (std::int64_t count = between(0, 6); count > 0; --count) {
        offsets.push_back(place_after(end, child));
        append(type.bytes, child.bytes, offsets.back());
        end = offsets.back() + span_of(child.bytes).end;
    }
    type.shape = Shape::blocks(child.shape, offsets);
    return type;
}

TypedMap TypemapGenerator::listed_runs() {
    TypedMap type;
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    const std::int64_t most = between(1, 9);
    Offset end = between(0, 8);
    for (std::int64_t count = between(0, 12); count > 0; --count) {
        const TypedMap piece = basic(between(0, 3) == 0 ? between(0, most) : most);
        offsets.push_back(place_after(end, piece));
        lengths.push_back(std::ssize(piece.bytes));
        append(type.bytes, piece.bytes, offsets.back());
        end = offsets.back() + lengths.back();
    }
    type.shape = Shape::runs(offsets, lengths);
    return type;
}

TypedMap TypemapGenerator::structure(int depth) {
    TypedMap type;
    std::vector<ShapePtr> children;
    std::vector<Offset> offsets;
    Offset end = between(0, 8);
    for (std::int64_t count = between(0, 4); count > 0; --count) {
        const TypedMap child = datatype(static_cast<int>(between(1, depth - 1)));
        children.push_back(child.shape);
        offsets.push_back(place_after(end, child));
        append(type.bytes, child.bytes, offsets.back());
        end = offsets.back() + span_of(child.bytes).end;
    }
    type.shape = Shape::mixed(children, offsets);
    return type;
}

/// Returns a block of a 3-D array in C order, as nested vectors with a displacement.
TypedMap TypemapGenerator::subarray() {
    constexpr Bytes kElements[] = {1, 4, 8};
    TypedMap type = basic(kElements[between(0, 2)]);
    Bytes row = std::ssize(type.bytes);
    Offset begin = 0;
    for (int dimension = 0; dimension < 3; ++dimension) {
        const std::int64_t whole = between(1, 6);
        const std::int64_t part = between(1, whole);
        begin += between(0, whole - part) * row;
        type = strided(type, part, row);
        row *= whole;
    }
    return moved_by(type, begin);
}

/// Returns the part of one process in a block-cyclic array: whole blocks and a shorter last one.
TypedMap TypemapGenerator::cyclic() {
    const Bytes element = between(1, 8);
    const std::int64_t block = between(1, 4);
    const std::int64_t processes = between(1, 4);
    const TypedMap whole = strided(basic(element), block, element);
    const TypedMap last = strided(basic(element), between(0, block), element);
    const std::int64_t rounds = between(0, 5);
    const Bytes cycle = processes * block * element;
    const TypedMap body = strided(whole, rounds, cycle);
    const Offset begin = between(0, processes - 1) * block * element;
    TypedMap type{Shape::mixed({body.shape, last.shape}, {begin, begin + rounds * cycle}), {}};
    append(type.bytes, body.bytes, begin);
    append(type.bytes, last.bytes, begin + rounds * cycle);
    return type;
}

TypedMap TypemapGenerator::moved(int depth) {
    const TypedMap child = datatype(depth - 1);
    return moved_by(child, style_ == Style::any ? between(-50, 50) : between(0, 50));
}

std::vector<Extent> pieces_of(const Typemap& bytes) {
    std::vector<Extent> pieces;
    for (const Offset byte : bytes) {
        if (pieces.empty() || pieces.back().end != byte)
            pieces.push_back({byte, byte + 1});
        else
            ++pieces.back().end;
    }
    return pieces;
}

TypemapFacts facts_of(const Typemap& bytes) {
    TypemapFacts facts;
    facts.span = span_of(bytes);
    const std::vector<Extent> pieces = pieces_of(bytes);
    facts.pieces = std::ssize(pieces);
    for (std::size_t i = 1; i < pieces.size(); ++i)
        if (pieces[i].begin < pieces[i - 1].begin || pieces[i].end < pieces[i - 1].end)
            facts.pieces_in_order = false;
    for (std::size_t i = 1; i < bytes.size(); ++i)
        if (bytes[i] <= bytes[i - 1]) facts.strictly_increasing = false;
    Typemap sorted = bytes;
    std::sort(sorted.begin(), sorted.end());
    facts.repeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    return facts;
}

}  // namespace oratorio::test
