// SPDX-License-Identifier: BSD-3-Clause
// Random: the tests' source of random numbers and random bytes. The same seed gives the same
// numbers on every platform.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace oratorio::test {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    /// Returns a number in [0, bound). REQUIRES: bound > 0. The numbers are slightly biased,
    /// because they are remainders; no test depends on that.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    /// Returns a number in [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
    }
    bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }

  private:
    std::uint64_t state_;
};

inline std::vector<std::byte> random_bytes(std::size_t length, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> bytes(length);
    for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random.next();
        std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), length - at));
    }
    return bytes;
}

}  // namespace oratorio::test
