// SPDX-License-Identifier: BSD-3-Clause
// external32: the representation that every machine reads (MPI-4.1, 14.5.2). No alignment, no
// padding: elements follow each other in data order.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "type/conversion.hpp"
#include "type/shape.hpp"
#include "type/signature.hpp"

namespace oratorio {

/// As of a Conversion whose data is `data`.
[[nodiscard]] Extent memory_part(const Signature& data, Extent file_part);

/// The size of an element in external32. ErrorKind::conversion when it has none.
[[nodiscard]] Result<Bytes> external32_size(const Element& element);

/// `memory` is the user's buffer, `item` the signature of one of its tiles. ErrorKind::conversion
/// when an element has no form in external32, ErrorKind::count when there is too much data to
/// count. Needs 64 KiB while it converts.
[[nodiscard]] Result<std::shared_ptr<Conversion>> external32_conversion(const Layout& memory,
                                                                        const SignaturePtr& item);

}  // namespace oratorio
