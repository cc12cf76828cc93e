// SPDX-License-Identifier: BSD-3-Clause
// Host: the functions of the MPI library that the program runs on. We have no link dependency on
// any MPI and no undefined MPI symbol: each function is looked up in the library that the process
// has already loaded, however it was loaded (Python loads it outside the global scope). The look-up
// never returns one of our own symbols.
//
// This is the only file of src/ that includes mpi.h. Which MPI's header that is decides the flavour
// (MPICH, Open MPI or, with MPI_ABI defined, the MPI-5 ABI). Don't use macros of mpi.h that expand
// to functions (MPI_*_DUP_FN, MPI_*_NULL_DELETE_FN, MPI_CONVERSION_FN_NULL) or to Fortran statuses:
// they may be undefined symbols.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>

namespace oratorio {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct Host {
#define HOST(name) decltype(&::PMPI_##name) name = nullptr;
#define HOST_OPTIONAL(name, ...)     \
    using name##_type = __VA_ARGS__; \
    name##_type name = nullptr;
#include "mpi/host.def"
#undef HOST
#undef HOST_OPTIONAL
};
#pragma GCC diagnostic pop

/// Returns the host, or null while the process has no MPI loaded (or one that lacks a function we
/// need, see host_defect). Thread-safe. Searches on each call until the host is found; later calls
/// cost one load.
[[nodiscard]] const Host* host_if_loaded();

/// The host once it is found and has all functions. Private to host() and its source file.
extern std::atomic<const Host*> found_host;

/// Returns the host. REQUIRES: called inside a call of the program to MPI, so that there is a host.
[[nodiscard]] inline const Host& host() {
    const Host* const found = found_host.load(std::memory_order_acquire);
    return found != nullptr ? *found : *host_if_loaded();
}

/// Returns why a loaded MPI can't be used: the first function of host.def that it lacks. Null if
/// nothing is wrong.
[[nodiscard]] const char* host_defect();

/// Returns the address of any function that the host itself defines ("PMPI_File_open", for
/// ORATORIO_DISABLE); null if it defines none. Never returns an address in another library.
[[nodiscard]] void* host_symbol(const char* name);

/// Returns the address of a data symbol of the host, as the program sees it: the program's own copy
/// if there is one (executables hold copies of a library's variables). Null if the symbol is absent
/// or no host is loaded.
[[nodiscard]] void* host_variable(const char* name);

}  // namespace oratorio

// Constants of Open MPI (MPI_COMM_WORLD, MPI_BYTE ...) are addresses of variables of its library.
// Each use looks up the address once, so that we hold no undefined symbol. Null if the host has no
// such variable. The load is relaxed, because every thread finds the same address and the address
// publishes nothing.
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                \
    (static_cast<type>([]() -> void* {                                      \
        static std::atomic<void*> known{nullptr};                           \
        void* address = known.load(std::memory_order_relaxed);              \
        if (!address) known = address = ::oratorio::host_variable(#global); \
        return address;                                                     \
    }()))
#endif
