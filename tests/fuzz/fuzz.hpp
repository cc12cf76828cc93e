// SPDX-License-Identifier: BSD-3-Clause
// Code that all fuzzers share: the entry point that libFuzzer calls, and claims that are checked in
// every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oratorio::test {

/// Ends the program if a claim doesn't hold; fuzzers and replay.cpp see that as a crash.
inline void claim(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: assertion failed: %s\n", what);
    std::abort();
}

/// Removes and returns the first byte of the input; 0 if no byte is left.
inline std::uint8_t take_byte(std::span<const std::uint8_t>& input) {
    if (input.empty()) return 0;
    const std::uint8_t byte = input.front();
    input = input.subspan(1);
    return byte;
}

}  // namespace oratorio::test
