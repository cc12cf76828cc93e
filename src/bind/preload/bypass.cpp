// SPDX-License-Identifier: BSD-3-Clause
#include "preload/bypass.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/standard_error.hpp"

namespace {

constexpr std::array<std::string_view, 4> kTransfers{"pread", "pwrite", "pread64", "pwrite64"};

using Entry = ElfW(Rela);
using Symbol = ElfW(Sym);

/// The dynamic linker's table of a library's calls to other libraries.
struct Calls {
    ElfW(Addr) table = 0;  ///< DT_JMPREL
    std::size_t bytes = 0;
    const Symbol* symbols = nullptr;
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
                calls.symbols = reinterpret_cast<const Symbol*>(address(entry->d_un.d_ptr));
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
    const std::span entries(reinterpret_cast<const Entry*>(calls.table),
                            calls.bytes / sizeof(Entry));
    const auto symbol_of = [&](const Entry& entry) -> const Symbol& {
        return calls.symbols[ELF64_R_SYM(entry.r_info)];
    };
    // The entry of a symbol that the library itself defines leads to the library, bound or not.
    const auto is_imported = [&](const Entry& entry) {
        return symbol_of(entry).st_shndx == SHN_UNDEF;
    };
    const auto is_transfer = [&](const Entry& entry) {
        const std::string_view name = calls.names + symbol_of(entry).st_name;
        return std::ranges::find(kTransfers, name) != kTransfers.end();
    };
    // Before the first call the entry leads to the library itself, where the binding begins.
    const auto is_bound = [&](const Entry& entry) {
        return holder_of(*reinterpret_cast<void* const*>(map->l_addr + entry.r_offset)) != own;
    };
    const auto has_moved = [&](const Entry& entry) {
        return is_imported(entry) && is_transfer(entry) && is_bound(entry);
    };
    const auto is_unbound = [&](const Entry& entry) {
        return is_imported(entry) && !is_bound(entry);
    };
    // If no entry is unbound, all were bound when the library was loaded (RTLD_NOW).
    return std::ranges::any_of(entries, has_moved) && std::ranges::any_of(entries, is_unbound);
}

void tell_bypassed() {
    if (!speaks_for_job() || is_set("ORATORIO_DISABLE")) return;
    oratorio::write_to_standard_error(
        "oratorio: warning: Oratorio was bypassed: the program looks up MPI_File_ functions with "
        "dlsym() in the MPI library itself, so the MPI's own MPI-IO was used; link the program "
        "with Oratorio, or let it look them up in liboratorio.so\n");
}
