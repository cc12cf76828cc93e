// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/scarcity.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace oratorio::test {
namespace {

Scarcity scarcity;
std::atomic<bool> on = false;
std::atomic<long> made = 0;
std::atomic<long> refused = 0;

struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};
Range library;  ///< the code of the library that does the work

int look_at(dl_phdr_info* info, std::size_t, void*) {
    if (std::strstr(info->dlpi_name, "liboratorio-") == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
        library.begin = info->dlpi_addr + segment.p_vaddr;
        library.end = library.begin + segment.p_memsz;
    }
    return 1;
}

bool is_ours(const void* caller) {
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    return on && at >= library.begin && at < library.end;
}

bool refuses_memory() {
    const long number = made++;
    const bool refuses = scarcity.first >= 0 &&
                         (scarcity.for_good ? number >= scarcity.first : number == scarcity.first);
    if (refuses) ++refused;
    return refuses;
}

}  // namespace

void set_scarcity(const Scarcity& next) {
    on = false;
    if (library.end == 0) dl_iterate_phdr(look_at, nullptr);
    scarcity = next;
    made = 0;
    refused = 0;
    on = true;
}
long allocations_made() {
    return made;
}
long refusals() {
    return refused;
}

}  // namespace oratorio::test

#define EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" void* __libc_malloc(std::size_t bytes);
EXPORTED void* malloc(std::size_t bytes) {
    using namespace oratorio::test;
    if (is_ours(__builtin_return_address(0)) && refuses_memory()) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(bytes);
}

EXPORTED void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                    off_t offset) {
    using namespace oratorio::test;
    using Call = void* (*)(void*, std::size_t, int, int, int, off_t);
    static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "mmap"));
    if (is_ours(__builtin_return_address(0)) && scarcity.mappings) {
        ++refused;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return call(at, bytes, protection, flags, file, offset);
}

EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                            void* (*body)(void*), void* argument) {
    using namespace oratorio::test;
    using Call = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "pthread_create"));
    if (is_ours(__builtin_return_address(0)) && scarcity.threads) {
        ++refused;
        return EAGAIN;
    }
    return call(thread, attributes, body, argument);
}
