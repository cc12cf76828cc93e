// SPDX-License-Identifier: BSD-3-Clause
// Host hook: lets the host call Oratorio while it waits, in any blocking call.
#pragma once

#include "bind/hook_state.hpp"

namespace oratorio::bind {

/// Makes the host call `function` repeatedly while the host waits, until `function` returns false.
/// Returns false if this host has no hook for that. MPICH since 4.3: MPIX_Async_start. Open MPI:
/// opal_progress_register, which isn't part of its public interface.
bool hook_into_host(HookFunction function);
[[nodiscard]] bool host_has_hook();

/// Unregisters our progress hook from MPICH, which must neither end nor start again while it has
/// the hook. Does nothing with Open MPI, which keeps the hook until the process ends. Called before
/// MPI ends.
void unhook_from_host();

}  // namespace oratorio::bind
