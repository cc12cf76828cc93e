// SPDX-License-Identifier: BSD-3-Clause
// Programs that reach their MPI past the preloaded library, and so keep the host's own MPI-IO.
#pragma once

/// Whether a library has called pread or pwrite so far; of the MPI libraries at hand only their own
/// MPI-IO does. False as well where its calls are bound before it makes them, so nothing can be
/// told.
[[nodiscard]] bool has_moved_file_data(void* library);

/// Whether what concerns the whole job is told by this process: it is the first rank's, and the
/// user hasn't asked for silence.
[[nodiscard]] bool speaks_for_job();

/// To stderr, once per job: the program's files were not Oratorio's business.
void tell_bypassed();
