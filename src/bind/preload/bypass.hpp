// SPDX-License-Identifier: BSD-3-Clause
// Detects programs that bypass the preloaded library, and so use the host's own MPI-IO.
#pragma once

/// Returns true if a library has called pread or pwrite so far; in today's MPI libraries only their
/// MPI-IO does so. Returns false if the library's calls were bound when it was loaded, because
/// nothing can be known then.
[[nodiscard]] bool has_moved_file_data(void* library);

/// Returns true if this process reports what concerns the whole job: it is the first rank, and the
/// user hasn't asked for silence (ORATORIO_QUIET).
[[nodiscard]] bool speaks_for_job();

/// Reports on stderr, once per job, that Oratorio was bypassed.
void tell_bypassed();
