// SPDX-License-Identifier: BSD-3-Clause
#include "preload/bypass.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/standard_error.hpp"

namespace {

constexpr std::array<std::string_view, 4> kTransfers{"pread", "pwrite", "pread64", "pwrite64"};

/// The dynamic linker's table of a library's calls to other libraries.
struct Calls {
    ElfW(Addr) table = 0;  ///< DT_JMPREL
    std::size_t bytes = 0;
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    bool bound_at_first_call = true;
};

Calls calls_of(const link_map& map) {
    Calls calls;
    // The dynamic linker has replaced offsets by addresses, but not on every machine.
    const auto address = [&](ElfW(Addr) value) {
        return value < map.l_addr ? value + map.l_addr : value;
    };
    for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
            case DT_JMPREL:
                calls.table = address(entry->d_un.d_ptr);
                break;
            case DT_PLTRELSZ:
                calls.bytes = entry->d_un.d_val;
                break;
            case DT_SYMTAB:
                calls.symbols = reinterpret_cast<const ElfW(Sym)*>(address(entry->d_un.d_ptr));
                break;
            case DT_STRTAB:
                calls.names = reinterpret_cast<const char*>(address(entry->d_un.d_ptr));
                break;
            case DT_BIND_NOW:
                calls.bound_at_first_call = false;
                break;
            case DT_FLAGS:
                if ((entry->d_un.d_val & DF_BIND_NOW) != 0) calls.bound_at_first_call = false;
                break;
            case DT_FLAGS_1:
                if ((entry->d_un.d_val & DF_1_NOW) != 0) calls.bound_at_first_call = false;
                break;
            default:
                break;
        }
    }
    if (std::getenv("LD_BIND_NOW") != nullptr) calls.bound_at_first_call = false;
    return calls;
}

const void* holder_of(const void* address) {
    Dl_info where{};
    return dladdr(address, &where) != 0 ? where.dli_fbase : nullptr;
}

bool is_first_rank() {
    for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"})
        if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
    return true;
}

bool is_set(const char* name) {
    const char* value = secure_getenv(name);
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

bool speaks_for_job() {
    return is_first_rank() && !is_set("ORATORIO_QUIET");
}

bool has_moved_file_data(void* library) {
    link_map* map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return false;
    const Calls calls = calls_of(*map);
    if (!calls.bound_at_first_call || calls.symbols == nullptr || calls.names == nullptr)
        return false;
    const void* const own = holder_of(map->l_ld);
    bool moved = false;
    bool one_by_one = false;  // unlike RTLD_NOW, which binds all when the library is loaded
    const auto* const all = reinterpret_cast<const ElfW(Rela)*>(calls.table);
    for (std::size_t i = 0; i < calls.bytes / sizeof *all; ++i) {
        const ElfW(Sym)& symbol = calls.symbols[ELF64_R_SYM(all[i].r_info)];
        // The entry of a symbol that the library itself defines leads to the library, bound or not.
        if (symbol.st_shndx != SHN_UNDEF) continue;
        const std::string_view name = calls.names + symbol.st_name;
        bool wanted = false;
        for (const std::string_view transfer : kTransfers) wanted = wanted || name == transfer;
        // Before the first call the entry leads to the library itself, where the binding begins.
        const void* const to = *reinterpret_cast<void* const*>(map->l_addr + all[i].r_offset);
        const bool bound = holder_of(to) != own;
        moved = moved || (wanted && bound);
        one_by_one = one_by_one || !bound;
    }
    return moved && one_by_one;
}

void tell_bypassed() {
    if (!speaks_for_job() || is_set("ORATORIO_DISABLE")) return;
    oratorio::write_to_standard_error(
        "oratorio: warning: Oratorio was bypassed: the program looks up MPI_File_ functions with "
        "dlsym() in the MPI library itself, so the MPI's own MPI-IO was used; link the program "
        "with Oratorio, or let it look them up in liboratorio.so\n");
}
