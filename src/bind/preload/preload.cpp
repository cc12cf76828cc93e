// SPDX-License-Identifier: BSD-3-Clause
// The preload library: each procedure of mpi_file.def as a stub that jumps to the library made for
// the host MPI in this process. The library includes no MPI header and needs no MPI library, so one
// file can be preloaded into anything: programs of any MPI, mpiexec, shells. The first call of a
// stub looks for the host, which is certainly loaded then.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/standard_error.hpp"
#include "preload/bypass.hpp"

#define ORATORIO_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// No C procedure of mpi_file.def has more than six arguments, and all of them are integers or
// pointers. On x86-64 and AArch64 these travel in the first six integer registers, whatever their
// widths, and the result returns in one register. A function of six words that calls another one
// with the same six words therefore passes on the arguments of any procedure unchanged.
using Word = long;
using Routine = Word (*)(Word, Word, Word, Word, Word, Word);
using LongRoutine = Word (*)(Word, Word, Word, Word, Word, Word, Word);

enum class Flavour { none, mpich, ompi, abi };

struct Host {
    Flavour flavour = Flavour::none;
    const char* library = "";  ///< file of the library made for this host
    Word error_other = 1;      ///< the host's MPI_ERR_OTHER, returned if a routine isn't found
};

constexpr Host kHosts[] = {
    {Flavour::none, "", 1},
    {Flavour::mpich, "liboratorio-mpich.so", 15},
    {Flavour::ompi, "liboratorio-ompi.so", 16},
    {Flavour::abi, "liboratorio-abi.so", 16},
};

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

/// Returns the path of the library that holds `address`.
std::string library_of(const void* address) {
    Dl_info where{};
    return dladdr(address, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "";
}

Flavour flavour_of(void* library, const void* init) {
    if (base_name(library_of(init)).rfind("libmpi_abi.so", 0) == 0) return Flavour::abi;
    if (dlsym(library, "ompi_mpi_comm_null") != nullptr) return Flavour::ompi;
    return Flavour::mpich;
}

int note_name(dl_phdr_info* info, std::size_t, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
    return 0;
}

struct Definition {
    void* library = nullptr;
    void* address = nullptr;
};

std::vector<std::string> other_libraries() {
    std::vector<std::string> libraries;
    dl_iterate_phdr(note_name, &libraries);
    const std::string own = library_of(reinterpret_cast<const void*>(&note_name));
    std::erase_if(libraries, [&](const std::string& path) { return path.empty() || path == own; });
    return libraries;
}

/// Returns the first loaded library that defines all of `names` itself, with the address of the
/// last name. Privately loaded libraries (as by mpi4py) count; this library doesn't.
Definition find_definition(std::initializer_list<const char*> names) {
    for (const std::string& path : other_libraries()) {
        void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;
        void* address = nullptr;
        for (const char* name : names) {
            address = dlsym(library, name);
            if (address == nullptr || base_name(library_of(address)) != base_name(path)) {
                address = nullptr;
                break;
            }
        }
        if (address != nullptr) return {library, address};
        dlclose(library);
    }
    return {};
}

/// Finds the MPI library. One name isn't enough: profilers have PMPI_ names as well (Darshan has
/// PMPI_Init_thread).
Definition find_mpi() {
    return find_definition({"PMPI_Comm_rank", "PMPI_Init_thread"});
}

const Host& find_host() {
    const Definition mpi = find_mpi();
    return kHosts[static_cast<int>(mpi.library != nullptr ? flavour_of(mpi.library, mpi.address)
                                                          : Flavour::none)];
}

const Host& host() {
    static const Host& found = find_host();
    return found;
}

/// Warns of a profiler that the dynamic linker searches after this library. This library calls MPI
/// directly, so such a profiler sees no call.
void warn_of_profiler_behind() {
    const std::string next = library_of(dlsym(RTLD_NEXT, "MPI_File_open"));
    const std::string mpi = library_of(find_mpi().address);
    if (next.empty() || next == mpi || base_name(next).rfind("liboratorio", 0) == 0) return;
    if (speaks_for_job())
        oratorio::write_to_standard_error(
            "oratorio: warning: " + next +
            " is loaded after Oratorio, so it sees no file access, no MPI_Init and no "
            "MPI_Finalize; put it before liboratorio.so in LD_PRELOAD, as `oratorio run` does\n");
}

void* load_flavour() {
    warn_of_profiler_behind();
    const Host& found = host();
    if (found.flavour == Flavour::none) {
        oratorio::write_to_standard_error(
            "oratorio: an MPI file routine was called, but no MPI library is loaded in this "
            "process\n");
        return nullptr;
    }
    const std::string own = library_of(reinterpret_cast<const void*>(&load_flavour));
    const std::string path = own.substr(0, own.rfind('/') + 1) + found.library;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && speaks_for_job()) {
        const char* const reason = dlerror();
        oratorio::write_to_standard_error(
            "oratorio: warning: using the MPI's own MPI-IO, because Oratorio's library for this "
            "MPI can't be loaded: " +
            std::string(reason != nullptr ? reason : "unknown reason") + "\n");
    }
    return library;
}

/// Returns the flavour's library, loaded once; null if there is none.
void* flavour_library() {
    static void* const library = load_flavour();
    return library;
}

Word fail(Word, Word, Word, Word, Word, Word) {
    return host().error_other;
}

/// True once the program has called an open of this library, in C or Fortran. Read when the process
/// ends; publishes nothing.
std::atomic<bool> opens_here{false};

Routine routine_at(void* address) {
    return address != nullptr ? reinterpret_cast<Routine>(address) : fail;
}

/// Returns the host's own routine. Looks up a C routine by its profiling name and in the MPI
/// library itself, because under another name or in another library it may be the routine of a
/// profiler, which would call this library.
Routine host_routine(const char* name) {
    if (std::strncmp(name, "MPI_", 4) != 0) return routine_at(find_definition({name}).address);
    const Definition mpi = find_mpi();
    return routine_at(mpi.library != nullptr ? dlsym(mpi.library, (std::string("P") + name).c_str())
                                             : nullptr);
}

Routine find_routine(const char* name) {
    if (strcasestr(name, "file_open") != nullptr) opens_here = true;
    void* library = flavour_library();
    return library != nullptr ? routine_at(dlsym(library, name)) : host_routine(name);
}

/// Returns the flavour's routine, or the host's if the flavour doesn't define it. The host's
/// routine is enough for calls outside MPI's I/O chapter. In Fortran, the host's routine calls the
/// C routine, which is a stub of this library.
Routine find_own_or_host_routine(const char* name) {
    const Routine found = find_routine(name);
    return found != fail ? found : host_routine(name);
}

/// The target of a stub, found at the first call. Two threads may find it twice, with the same
/// result. The release store publishes what the search has loaded to the acquire load.
template <Routine (*find)(const char*)>
class Slot {
  public:
    explicit constexpr Slot(const char* name) : name_(name) {}
    Routine target() {
        Routine known = target_.load(std::memory_order_acquire);
        if (known == nullptr) {
            known = find(name_);
            target_.store(known, std::memory_order_release);
        }
        return known;
    }

  private:
    const char* name_;
    std::atomic<Routine> target_{nullptr};
};

/// Reports at the end of the process if Oratorio was bypassed. Only opens count, because the host
/// itself makes other calls to this library.
[[gnu::destructor]] void look_for_bypass() {
    if (opens_here) return;
    const Definition mpi = find_mpi();
    if (mpi.library != nullptr && has_moved_file_data(mpi.library)) tell_bypassed();
}

}  // namespace

#define ORATORIO_STUB_BODY(find, name)                                          \
    ORATORIO_EXPORT Word name(Word a, Word b, Word c, Word d, Word e, Word f) { \
        static constinit Slot<find> slot(#name);                                \
        return slot.target()(a, b, c, d, e, f);                                 \
    }
#define ORATORIO_STUB_AND_ALIAS(find, name)                                      \
    ORATORIO_STUB_BODY(find, name)                                               \
    ORATORIO_EXPORT Word P##name(Word a, Word b, Word c, Word d, Word e, Word f) \
        __attribute__((alias(#name)));
#define ORATORIO_STUB(name) ORATORIO_STUB_AND_ALIAS(find_routine, name)
#define ORATORIO_BESIDE_STUB(name) ORATORIO_STUB_AND_ALIAS(find_own_or_host_routine, name)
// A Fortran routine may have the length of a string after its arguments, a seventh word.
#define ORATORIO_FORTRAN_STUB(name)                                                     \
    ORATORIO_EXPORT Word name(Word a, Word b, Word c, Word d, Word e, Word f, Word g) { \
        static constinit Slot<find_own_or_host_routine> slot(#name);                    \
        auto* const target = reinterpret_cast<void*>(slot.target());                    \
        return reinterpret_cast<LongRoutine>(target)(a, b, c, d, e, f, g);              \
    }

#include "stubs.inc"
