// SPDX-License-Identifier: BSD-3-Clause
// The bytes that a test expects in a layout. They are computed once and compared as a whole,
// because a sanitized program takes long to check bytes one by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "type/cursor.hpp"
#include "type/shape.hpp"

namespace oratorio::test {

/// Returns success, or a failure that names the first byte that differs.
inline testing::AssertionResult same_bytes(std::span<const std::byte> is,
                                           std::span<const std::byte> wanted) {
    if (is.size() != wanted.size())
        return testing::AssertionFailure() << is.size() << " bytes instead of " << wanted.size();
    if (is.empty() || std::memcmp(is.data(), wanted.data(), is.size()) == 0)
        return testing::AssertionSuccess();
    const auto at = std::ranges::mismatch(is, wanted).in1 - is.begin();
    const auto place = static_cast<std::size_t>(at);
    return testing::AssertionFailure() << "byte " << at << " is " << static_cast<int>(is[place])
                                       << " instead of " << static_cast<int>(wanted[place]);
}

/// Returns the values of the first `count` data bytes of a layout. `value_at` maps file offsets to
/// values.
template <class ValueAt>
std::vector<std::byte> values_of(const Layout& layout, Bytes count, ValueAt value_at) {
    std::vector<std::byte> values(static_cast<std::size_t>(count));
    for (Bytes i = 0; i < count; ++i)
        values[static_cast<std::size_t>(i)] = value_at(offset_of_size(layout, i));
    return values;
}

/// Returns the result of make() for this key, which is computed only once. Each call site has keys
/// of its own, because each passes a `make` of its own type.
template <class Key, class Make>
const std::vector<std::byte>& made_once(const Key& key, Make make) {
    static std::map<Key, std::vector<std::byte>> known;
    std::vector<std::byte>& bytes = known[key];
    if (bytes.empty()) bytes = make();
    return bytes;
}

}  // namespace oratorio::test
