// SPDX-License-Identifier: BSD-3-Clause
// A broadcast from the first rank of a node to the other ranks of that node.
#pragma once

#include "comm/transport.hpp"

namespace oratorio {

/// Collective over the ranks of one node, independent of other nodes. Copies the bytes of the
/// node's first rank to all its ranks. On a node with n ranks, a rank sends and receives at most
/// ceil(log2(n)) messages.
Result<void> node_broadcast(Transport& transport, std::span<std::byte> data);

}  // namespace oratorio
