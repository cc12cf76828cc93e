// SPDX-License-Identifier: BSD-3-Clause
// Latencies: measures the latency between all pairs of nodes, so that nodes of one network switch
// can be recognized.
#pragma once

namespace oratorio::calibrate {

/// Collective over MPI_COMM_WORLD. Measures half of the fastest round trip of a small message
/// between the first ranks of each pair of nodes. Rank 0 prints "node NAME" for each node, and
/// "latency NODE NODE NANOSECONDS" for each pair, where nodes are numbered from 0 in the order of
/// those names. Takes time in proportion to the number of nodes, because half of the nodes measure
/// with the other half at the same time.
void measure_latencies(int turns);

}  // namespace oratorio::calibrate
