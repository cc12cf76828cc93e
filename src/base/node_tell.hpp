// SPDX-License-Identifier: BSD-3-Clause
// What the first rank of a node tells the ranks beside it.
#pragma once

#include "base/transport.hpp"

namespace oratorio {

/// Collective over the ranks of one node, whatever others do meanwhile: the bytes of its first rank
/// on all of them. A rank sends and receives at most log2 of their number messages, rounded up.
Result<void> tell_node(Transport& transport, std::span<std::byte> data);

}  // namespace oratorio
