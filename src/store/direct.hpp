// SPDX-License-Identifier: BSD-3-Clause
// Direct I/O (O_DIRECT): transfers past the page cache. A store keeps a second descriptor of its
// file for them; whether a request goes there is a question of its alignment alone, so requests of
// both kinds never share a page.
#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "store/store.hpp"

namespace oratorio {

struct DirectFile {
    Descriptor file{-1};  ///< none where the system refuses
    DirectAlignment alignment;
    std::string refusal;  ///< why there is none
};

/// Opens the file of `descriptor` once more, for direct I/O.
[[nodiscard]] DirectFile open_direct(int descriptor);

/// Whether a request keeps to the alignment, and moves anything at all.
[[nodiscard]] bool is_aligned(const IoRequest& request, const DirectAlignment& alignment);

}  // namespace oratorio
