// SPDX-License-Identifier: BSD-3-Clause
// Tables with one row per value of an enum. An incomplete table does not compile.
#pragma once

#include <array>
#include <cstddef>

namespace oratorio {

/// Returns true if `rows` has one row per kind, in the order of the enum. REQUIRES: the last value
/// of the enum is `count`.
template <class Row, std::size_t size>
[[nodiscard]] consteval bool is_complete(const std::array<Row, size>& rows) {
    using Kind = decltype(Row::kind);
    if (size != static_cast<std::size_t>(Kind::count)) return false;
    for (std::size_t i = 0; i < size; ++i) {
        if (rows[i].kind != static_cast<Kind>(i)) return false;
    }
    return true;
}

/// Returns the row of `kind`.
template <class Row, std::size_t size>
[[nodiscard]] constexpr const Row& row_of(const std::array<Row, size>& rows,
                                          decltype(Row::kind) kind) {
    return rows[static_cast<std::size_t>(kind)];
}

}  // namespace oratorio
