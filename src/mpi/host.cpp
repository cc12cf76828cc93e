// SPDX-License-Identifier: BSD-3-Clause
// Finds the host MPI among the libraries of the process.
#include "mpi/host.hpp"

#include <dlfcn.h>
#include <link.h>

#include <mutex>
#include <string>
#include <vector>

namespace oratorio {
namespace {

struct Library {
    void* handle = nullptr;
    const link_map* map = nullptr;
};

const link_map* map_of_symbol(const void* address) {
    Dl_info info;
    void* map = nullptr;
    if (!dladdr1(address, &info, &map, RTLD_DL_LINKMAP)) return nullptr;
    return static_cast<const link_map*>(map);
}

/// Returns the address of a symbol that the library itself defines, else null. dlsym also searches
/// the library's dependencies, which for the main program are all libraries, ours included.
void* defined_by(const Library& library, const char* name) {
    void* address = dlsym(library.handle, name);
    return address && map_of_symbol(address) == library.map ? address : nullptr;
}

std::vector<std::string> loaded_libraries() {
    std::vector<std::string> names;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* list) {
            static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
            return 0;
        },
        &names);
    return names;
}

/// Finds the host. Keeps its handle open, so that the library can't be unloaded while we hold its
/// functions.
Library find_library() {
    for (const std::string& name : loaded_libraries()) {
        Library library;
        library.handle = dlopen(name.empty() ? nullptr : name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (!library.handle) continue;
        link_map* map = nullptr;
        if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0) {
            library.map = map;
            if (defined_by(library, "PMPI_Comm_rank") && defined_by(library, "PMPI_Init_thread"))
                return library;
        }
        dlclose(library.handle);
    }
    return {};
}

/// The host and its functions. Never destroyed, because the program may call MPI during exit.
struct Found {
    Library library;
    Host functions;
    const char* defect = nullptr;
};

template <class Function>
void fill(const Found& found, Function& function, const char* name) {
    function = reinterpret_cast<Function>(defined_by(found.library, name));
}

Found* look_up(Library library) {
    auto* found = new Found;
    found->library = library;
#define HOST_OPTIONAL(name, ...) fill(*found, found->functions.name, "PMPI_" #name);
#define HOST(name)                                      \
    fill(*found, found->functions.name, "PMPI_" #name); \
    if (!found->functions.name && !found->defect) found->defect = "PMPI_" #name;
#include "mpi/host.def"
#undef HOST
#undef HOST_OPTIONAL
    return found;
}

const Found* find() {
    // The release store publishes *found to the acquire loads.
    static std::atomic<const Found*> known{nullptr};
    if (const Found* found = known.load(std::memory_order_acquire)) return found;
    static std::mutex searching;
    const std::lock_guard lock(searching);
    if (const Found* found = known.load(std::memory_order_acquire)) return found;
    const Library library = find_library();
    if (!library.handle) return nullptr;
    const Found* found = look_up(library);
    known.store(found, std::memory_order_release);
    if (!found->defect) found_host.store(&found->functions, std::memory_order_release);
    return found;
}

}  // namespace

std::atomic<const Host*> found_host{nullptr};

const Host* host_if_loaded() {
    const Found* found = find();
    return found && !found->defect ? &found->functions : nullptr;
}

const char* host_defect() {
    const Found* found = find();
    return found ? found->defect : nullptr;
}

void* host_symbol(const char* name) {
    const Found* found = find();
    return found ? defined_by(found->library, name) : nullptr;
}

void* host_variable(const char* name) {
    const Found* found = find();
    if (!found) return nullptr;
    void* address = dlsym(RTLD_DEFAULT, name);
    return address ? address : dlsym(found->library.handle, name);
}

}  // namespace oratorio
