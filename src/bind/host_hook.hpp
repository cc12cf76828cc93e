// SPDX-License-Identifier: BSD-3-Clause
// HostHook: lets a host call us while it waits, in any blocking call.
#pragma once

#include "bind/hook_state.hpp"

namespace oratorio::bind {

/// Makes the host call `function` while it waits: until that returns false (then install it again),
/// or forever. Returns false if this host has no such hook. MPICH 5: MPIX_Async_start. Open MPI:
/// opal_progress_register, which isn't part of its public interface, so it is looked up.
bool hook_into_host(HookFunction function);
[[nodiscard]] bool host_has_hook();

/// Takes our function back from the host. Called before MPI ends, so that MPI neither ends nor
/// begins again with a function of ours.
void unhook_from_host();

}  // namespace oratorio::bind
