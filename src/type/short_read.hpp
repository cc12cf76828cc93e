// SPDX-License-Identifier: BSD-3-Clause
// Short read: which part of an access's data was read where the file ended inside it.
#pragma once

#include <functional>

#include "type/shape.hpp"

namespace oratorio {

/// Calls `visit` for each part of the positions `data` of a file layout's data whose bytes lie
/// before the end of the file, in data order. The parts don't touch each other. `bytes` is the
/// number of data bytes before the end of the file, which is all that need be known of where it is.
void each_part_before_end(const Layout& file, Extent data, Bytes bytes,
                          const std::function<void(Extent)>& visit);

}  // namespace oratorio
