// SPDX-License-Identifier: BSD-3-Clause
// Bytes that tests expect: made once for a layout, and compared as a whole. A sanitized program
// takes long for each byte by itself.
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

/// Success, or where the first byte is that differs.
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

/// The values of a layout's first `count` data bytes, by their offsets.
template <class ValueAt>
std::vector<std::byte> values_of(const Layout& layout, Bytes count, ValueAt value_at) {
    std::vector<std::byte> values(static_cast<std::size_t>(count));
    for (Bytes i = 0; i < count; ++i)
        values[static_cast<std::size_t>(i)] = value_at(offset_of_size(layout, i));
    return values;
}

/// What `make()` gives for that key, made when it is first wanted. Each place that calls this has
/// its own keys.
template <class Key, class Make>
const std::vector<std::byte>& made_once(const Key& key, Make make) {
    static std::map<Key, std::vector<std::byte>> known;
    std::vector<std::byte>& bytes = known[key];
    if (bytes.empty()) bytes = make();
    return bytes;
}

}  // namespace oratorio::test
