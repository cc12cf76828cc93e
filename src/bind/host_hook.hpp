// SPDX-License-Identifier: BSD-3-Clause
// HostHook: where a host lets others in while it waits, in whatever blocking call.
#pragma once

namespace oratorio::bind {

/// Moves something on; false when there is nothing left that would need to be called for.
using HookFunction = bool (*)();

/// Has the host call `function` while it waits, until that gives false or for ever; install it
/// again then. False when this host has no such place. MPICH 5: MPIX_Async_start. Open MPI:
/// opal_progress_register, which is not of its public interface, so it is looked for.
bool hook_into_host(HookFunction function);
[[nodiscard]] bool host_has_hook();

}  // namespace oratorio::bind
