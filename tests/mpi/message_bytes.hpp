// SPDX-License-Identifier: BSD-3-Clause
// message_bytes: the content of a message between two ranks, which both can compute.
#pragma once

#include "base/extent.hpp"
#include "support/random.hpp"

namespace oratorio::test {

inline std::vector<std::byte> message_bytes(Rank from, Rank to, int number, std::size_t size) {
    return random_bytes(size, static_cast<std::uint64_t>(from * 1000003 + to * 1009 + number));
}

}  // namespace oratorio::test
