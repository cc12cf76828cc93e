// SPDX-License-Identifier: BSD-3-Clause
// The arms `bare`, `bare_avx2` and `bare_avx512`: two-phase I/O on one node by a bare program,
// which shows what a machine allows. Everything is known in advance: there are no datatypes, no
// plan, no requests, and no errors but the system's.
#pragma once

#include "posix_pass.hpp"

namespace bench {

/// Collective. Measures a pass. All preparations are made before the measurement.
/// - If the file ranges of a rank are long, it moves them with pread or pwrite by itself, through a
///   buffer of half a MiB if a range has several pieces. It goes through its memory once, so that
///   each cache line is loaded once.
/// - Otherwise all ranks go through the file together. They copy their pieces from or to a window
///   in shared memory, and each of them reads or writes its share of the window. While some ranks
///   still copy, others can begin with a second window. Bytes between the pieces are read before
///   a write.
/// Ranks on several nodes, or a processor without the instructions, give a sample with an error.
Sample run_bare(Instructions instructions, const PosixPass& pass, const Access& access,
                Buffer& buffer, MPI_Comm comm);

}  // namespace bench
