// SPDX-License-Identifier: BSD-3-Clause
#include "bind/host_hook.hpp"

#include <dlfcn.h>

#include "bind/mpi_types.hpp"

namespace oratorio::bind {

namespace {

HookState host_hook;

// MPICH's values of MPIX_Async (mpi.h of MPICH since 4.3), which other hosts' headers don't have.
constexpr int kAsyncNoProgress = 0;
constexpr int kAsyncDone = 1;
constexpr int kStreamNull = 0x3c000000;
using AsyncStart = int (*)(int (*)(void*), void*, int);
using StreamProgress = int (*)(int);
using ProgressRegister = int (*)(int (*)());

int called_by_mpich(void*) {
    return host_hook.called() ? kAsyncNoProgress : kAsyncDone;
}

/// Steps operations while Open MPI waits. The registration never ends, so Open MPI calls this
/// function until the process ends.
int called_by_open_mpi() {
    if (host_hook.wanted()) (void)host_hook.called();
    return 0;
}

AsyncStart mpich_start() {
    static const auto start = reinterpret_cast<AsyncStart>(host_symbol("PMPIX_Async_start"));
    return start;
}

bool start_in_mpich() {
    return mpich_start()(called_by_mpich, nullptr, kStreamNull) == MPI_SUCCESS;
}

void mpich_progress() {
    static const auto progress =
        reinterpret_cast<StreamProgress>(host_symbol("PMPIX_Stream_progress"));
    if (progress != nullptr) progress(kStreamNull);
}

ProgressRegister open_mpi_register() {
    static const auto found = []() -> ProgressRegister {
        for (const char* name : {"libopen-pal.so.80", "libopen-pal.so.40"}) {
            void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
            if (library == nullptr) continue;
            return reinterpret_cast<ProgressRegister>(dlsym(library, "opal_progress_register"));
        }
        return nullptr;
    }();
    return found;
}

bool start_in_open_mpi() {
    static const bool registered = open_mpi_register()(called_by_open_mpi) == 0;
    return registered;
}

}  // namespace

bool host_has_hook() {
    return mpich_start() != nullptr || open_mpi_register() != nullptr;
}

bool hook_into_host(HookFunction function) {
    if (mpich_start() != nullptr) return host_hook.install(function, start_in_mpich);
    return open_mpi_register() != nullptr && host_hook.install(function, start_in_open_mpi);
}

void unhook_from_host() {
    if (mpich_start() != nullptr) host_hook.withdraw(mpich_progress);
}

}  // namespace oratorio::bind
