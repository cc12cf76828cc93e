// SPDX-License-Identifier: BSD-3-Clause
// Direct I/O (O_DIRECT): transfers that bypass the page cache. Stores other than store/uncached use
// a second descriptor of the file for them. A request's direction and alignment alone decide which
// descriptor it uses. A direct request covers whole pages, so a buffered one shares a page with it
// only if they overlap.
#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "store/store.hpp"

namespace oratorio {

struct DirectFile {
    Descriptor file{-1};  ///< invalid if the system refuses
    DirectAlignment alignment;
    std::string refusal;  ///< why there is no direct I/O
};

/// Opens the file of `descriptor` a second time, for direct I/O.
[[nodiscard]] DirectFile open_direct(int descriptor);

/// Returns true if a request is aligned and not empty.
[[nodiscard]] bool is_aligned(const IoRequest& request, const DirectAlignment& alignment);

}  // namespace oratorio
