// SPDX-License-Identifier: BSD-3-Clause
#include "bind/host_hook.hpp"

#include <dlfcn.h>

#include <atomic>

#include "bind/mpi_types.hpp"

namespace oratorio::bind {

namespace {

std::atomic<HookFunction> hooked{nullptr};

// MPICH's values of MPIX_Async (mpi.h of MPICH 5), which other hosts' headers don't have.
constexpr int kAsyncNoProgress = 0;
constexpr int kAsyncDone = 1;
constexpr int kStreamNull = 0x3c000000;
using AsyncStart = int (*)(int (*)(void*), void*, int);
using ProgressRegister = int (*)(int (*)());

int called_by_mpich(void*) {
    const HookFunction function = hooked.load();
    if (function != nullptr && function()) return kAsyncNoProgress;
    hooked = nullptr;
    return kAsyncDone;
}

int called_by_open_mpi() {
    const HookFunction function = hooked.load();
    if (function == nullptr || !function()) hooked = nullptr;
    return 0;
}

AsyncStart mpich_start() {
    static const auto start = reinterpret_cast<AsyncStart>(host_symbol("PMPIX_Async_start"));
    return start;
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

}  // namespace

bool host_has_hook() {
    return mpich_start() != nullptr || open_mpi_register() != nullptr;
}

bool hook_into_host(HookFunction function) {
    if (hooked.exchange(function) != nullptr) return true;
    if (mpich_start() != nullptr)
        return mpich_start()(called_by_mpich, nullptr, kStreamNull) == MPI_SUCCESS;
    if (open_mpi_register() == nullptr) return false;
    static const bool registered = open_mpi_register()(called_by_open_mpi) == 0;
    return registered;
}

}  // namespace oratorio::bind
