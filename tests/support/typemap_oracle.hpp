// SPDX-License-Identifier: BSD-3-Clause
// Typemap oracle: random nested datatypes with their typemap written out byte by byte, and answers
// computed slowly from the typemap alone. Tests compare shapes and cursors with these answers.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "type/shape.hpp"

namespace oratorio::test {

/// A typemap: the offset of every data byte, in data order.
using Typemap = std::vector<Offset>;

/// One datatype in two forms: as the shape that the factories build, and as its typemap.
struct TypedMap {
    ShapePtr shape = Shape::empty();
    Typemap bytes;
};

struct LaidOutMap {
    Layout layout;
    Typemap bytes;
};

/// Generates datatypes that depend on the seed only.
class TypemapGenerator {
  public:
    enum class Style {
        any,        ///< strides may be negative or zero, and data may overlap, in any order
        ascending,  ///< strictly increasing offsets, as a file view for writing needs
    };

    TypemapGenerator(std::uint64_t seed, Style style) : random_(seed), style_(style) {}

    /// Returns a datatype of up to `depth` levels and at most a few thousand bytes; it may be
    /// empty.
    [[nodiscard]] TypedMap datatype(int depth);
    /// Returns a datatype in tiles. The tiles' extent may be smaller than, larger than or equal to
    /// the datatype's span, and the origin may lie beyond 4 GiB.
    [[nodiscard]] LaidOutMap layout(int depth);
    /// Returns a uniformly distributed number in [low, high].
    [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high);

  private:
    [[nodiscard]] TypedMap vector(int depth);
    [[nodiscard]] TypedMap listed_blocks(int depth);
    [[nodiscard]] TypedMap listed_runs();
    [[nodiscard]] TypedMap structure(int depth);
    [[nodiscard]] TypedMap subarray();
    [[nodiscard]] TypedMap cyclic();
    [[nodiscard]] TypedMap moved(int depth);
    [[nodiscard]] Bytes stride_for(const TypedMap& child);
    [[nodiscard]] Offset place_after(Offset end, const TypedMap& part);

    std::mt19937_64 random_;
    Style style_;
};

/// Memory for exactly the offsets of a span, wherever they are, so that a sanitizer detects any
/// access outside.
struct SpanMemory {
    SpanMemory(Extent span, std::uint64_t seed)
        : begin(span.begin), data(random_bytes(static_cast<std::size_t>(span.length()), seed)) {}
    [[nodiscard]] std::byte* base() {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(data.data()) - begin);
    }
    [[nodiscard]] std::byte& at(Offset offset) {
        return data[static_cast<std::size_t>(offset - begin)];
    }
    Offset begin;
    std::vector<std::byte> data;
};

/// Properties of a datatype that are computed from its typemap alone.
struct TypemapFacts {
    Extent span;
    std::int64_t pieces = 0;  ///< number of maximal contiguous pieces
    bool strictly_increasing = true;
    /// Neither the first nor the last bytes of the maximal pieces ever decrease.
    bool pieces_in_order = true;
    bool repeated = false;  ///< some byte occurs twice
};
[[nodiscard]] TypemapFacts facts_of(const Typemap& bytes);

/// Returns the maximal contiguous pieces in data order.
[[nodiscard]] std::vector<Extent> pieces_of(const Typemap& bytes);

}  // namespace oratorio::test
