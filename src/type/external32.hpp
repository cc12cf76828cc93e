// SPDX-License-Identifier: BSD-3-Clause
// external32: the data representation that every machine reads (MPI-4.1, 14.5.2). It has no
// alignment and no padding: elements follow each other in data order.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "type/conversion.hpp"
#include "type/shape.hpp"
#include "type/signature.hpp"

namespace oratorio {

/// Returns what Conversion::memory_part() returns, for data with the signature `data`.
[[nodiscard]] Extent memory_part(const Signature& data, Extent file_part);

/// Returns the size of an element in external32, or ErrorKind::conversion if it has no form there.
[[nodiscard]] Result<Bytes> external32_size(const Element& element);

/// Makes the conversion between memory and external32. `memory` is the user's buffer, `item` the
/// signature of one of its tiles. Fails with ErrorKind::conversion if an element has no form in
/// external32, and with ErrorKind::count if the size of the data exceeds 64 bits. The conversion's
/// to_file() and to_memory() allocate 64 KiB while they run.
[[nodiscard]] Result<std::shared_ptr<Conversion>> external32_conversion(const Layout& memory,
                                                                        const SignaturePtr& item);

}  // namespace oratorio
