// SPDX-License-Identifier: BSD-3-Clause
// Functions that move the bytes of one piece: the building blocks of the kernels. Used by
// kernels.cpp, merge.cpp and streamed.cpp only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_copy.hpp"
#include "base/extent.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define ORATORIO_MASKED [[gnu::target("avx512bw,bmi2")]]
#else
#define ORATORIO_MASKED
#endif

namespace oratorio {

/// Moves kLength bytes with one load and one store.
template <std::size_t kLength>
struct Exactly {
    void operator()(std::byte* to, const std::byte* from, Bytes /*length*/) const {
        std::memcpy(to, from, kLength);
    }
};

/// Moves kPart to 2 * kPart bytes: the first kPart and the last kPart, which may overlap.
template <std::size_t kPart>
struct Halves {
    void operator()(std::byte* to, const std::byte* from, Bytes length) const {
        const std::size_t last = static_cast<std::size_t>(length) - kPart;
        std::byte parts[2][kPart];
        std::memcpy(parts[0], from, kPart);
        std::memcpy(parts[1], from + last, kPart);
        std::memcpy(to, parts[0], kPart);
        std::memcpy(to + last, parts[1], kPart);
    }
};

/// Moves 2 * kPart to 4 * kPart bytes in four parts, which may overlap.
template <std::size_t kPart>
struct Quarters {
    void operator()(std::byte* to, const std::byte* from, Bytes length) const {
        const std::size_t last = static_cast<std::size_t>(length) - kPart;
        std::byte parts[4][kPart];
        std::memcpy(parts[0], from, kPart);
        std::memcpy(parts[1], from + kPart, kPart);
        std::memcpy(parts[2], from + last - kPart, kPart);
        std::memcpy(parts[3], from + last, kPart);
        std::memcpy(to, parts[0], kPart);
        std::memcpy(to + kPart, parts[1], kPart);
        std::memcpy(to + last - kPart, parts[2], kPart);
        std::memcpy(to + last, parts[3], kPart);
    }
};

struct Long {
    void operator()(std::byte* to, const std::byte* from, Bytes length) const {
        copy_long(to, from, static_cast<std::size_t>(length));
    }
};

/// Moves any number of bytes; up to 64 without a function call.
struct Branching {
    void operator()(std::byte* to, const std::byte* from, Bytes length) const {
        if (length > 64) return Long()(to, from, length);
        if (length > 32) return Quarters<16>()(to, from, length);
        if (length >= 16) return Halves<16>()(to, from, length);
        if (length >= 8) return Halves<8>()(to, from, length);
        if (length >= 4) return Halves<4>()(to, from, length);
        if (length >= 2) return Halves<2>()(to, from, length);
        if (length == 1) *to = *from;
    }
};

/// Moves any number of bytes; up to 64 with one masked load and store, which touch no other bytes.
/// With random lengths, the processor mispredicts the branches of Branching, and each misprediction
/// costs more than the copy. REQUIRES: has_masked_moves().
struct Masked {
    ORATORIO_MASKED void operator()(std::byte* to, const std::byte* from, Bytes length) const {
#if defined(__x86_64__)
        if (length <= 64) {
            const __mmask64 mask = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(length));
            return _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
        }
#endif
        Long()(to, from, length);
    }
};

}  // namespace oratorio
