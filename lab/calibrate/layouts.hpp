// SPDX-License-Identifier: BSD-3-Clause
// The layouts of data for which copying and packing are measured.
#pragma once

#include <cstdint>
#include <vector>

#include "type/shape.hpp"

namespace oratorio::calibrate {

[[nodiscard]] inline Layout dense(Bytes bytes) {
    return {Shape::run(bytes), bytes, 0, 1};
}

/// Returns pieces at equal distances, which with their gaps span `span` bytes.
[[nodiscard]] inline Layout strided(Bytes length, Bytes stride, Bytes span) {
    return {Shape::strided(Shape::run(length), span / stride, stride), span, 0, 1};
}

/// Returns pieces at uneven distances, which fill half of `span` bytes: one of every two places has
/// a piece. The list of pieces covers 64 KiB and is repeated, as in a datatype of a program.
[[nodiscard]] inline Layout listed(Bytes length, Bytes span) {
    constexpr Bytes kTile = 64 << 10;
    std::vector<Offset> offsets;
    std::uint32_t random = 1;
    for (Bytes at = 0; at < kTile; at += 2 * length) {
        random = random * 1664525U + 1013904223U;
        offsets.push_back(at + (random >> 31) * length);
    }
    return {Shape::blocks(Shape::run(length), std::move(offsets)), kTile, 0, span / kTile};
}

}  // namespace oratorio::calibrate
