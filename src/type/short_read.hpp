// SPDX-License-Identifier: BSD-3-Clause
// Short read: which part of an access's data was read if the file ended inside the access.
#pragma once

#include <functional>

#include "type/shape.hpp"

namespace oratorio {

/// Calls `visit` for each part of the data positions `data` that lies before the end of the file,
/// in data order. The parts don't touch each other. `bytes` is the number of bytes of `data` that
/// lie before the end of the file; the function computes where the file ends from that number.
void each_part_before_end(const Layout& file, Extent data, Bytes bytes,
                          const std::function<void(Extent)>& visit);

}  // namespace oratorio
