// SPDX-License-Identifier: BSD-3-Clause
// HostHook: where a host lets others in while it waits, in whatever blocking call.
#pragma once

#include "bind/hook_state.hpp"

namespace oratorio::bind {

/// Has the host call `function` while it waits, until that gives false or for ever; install it
/// again then. False when this host has no such place. MPICH 5: MPIX_Async_start. Open MPI:
/// opal_progress_register, which is not of its public interface, so it is looked for.
bool hook_into_host(HookFunction function);
[[nodiscard]] bool host_has_hook();

/// Before MPI ends, so that it neither ends nor begins anew with something of ours.
void unhook_from_host();

}  // namespace oratorio::bind
