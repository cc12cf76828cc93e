// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/scarcity.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "memory/reserve.hpp"

namespace oratorio::oracle {

namespace {

constexpr std::size_t kTaken = 64 << 10;
// A lower bound for the size of the library's reserve mapping. No other mapping made here is as
// large.
constexpr std::size_t kReserve = 4 << 20;

/// The state of the program that runs; the process runs programs one after the other.
struct Now {
    Scarcity scarcity;
    long made = 0;
    bool counted = false;
    bool reserve_empty = false;
};
Now now;

bool is_refused() {
    if (!now.counted || now.scarcity.first == 0) return false;
    const long number = ++now.made;
    return now.scarcity.for_good ? number >= now.scarcity.first : number == now.scarcity.first;
}

bool map_is_refused(std::size_t bytes) {
    if (now.reserve_empty && bytes >= kReserve) return true;
    return now.scarcity.maps && is_refused();
}

}  // namespace

Scarce::Scarce(const Scarcity& scarcity) {
    now = {.scarcity = scarcity};
}

Scarce::~Scarce() {
    now = {};
}

Counted::Counted(bool counted) : before_(std::exchange(now.counted, counted)) {}

Counted::~Counted() {
    now.counted = before_;
}

EmptyReserve::EmptyReserve() {
    const Spared spared;
    now.reserve_empty = true;
    while (ready_for_collective(1).kind == ErrorKind::none) {
        void* const memory = reserve().take(kTaken);
        if (memory == nullptr) break;
        taken_.push_back(memory);
    }
}

EmptyReserve::~EmptyReserve() {
    for (void* const memory : taken_) (void)reserve().give_back(memory);
    now.reserve_empty = false;
}

}  // namespace oratorio::oracle

// The names in this block are the linker's, for the wrapped functions (__wrap_) and the real ones
// (__real_).
// NOLINTBEGIN(bugprone-reserved-identifier)
using namespace oratorio;

extern "C" {

void* __real_malloc(std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) {
    return oracle::is_refused() ? nullptr : __real_malloc(bytes);
}

void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    if (!oracle::map_is_refused(bytes))
        return __real_mmap(at, bytes, protection, flags, file, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

/// Makes starting a thread fail if the setting says so. Being defined in the program, this also
/// replaces the function for the C++ library.
__attribute__((visibility("default"))) int pthread_create(pthread_t* made,
                                                          const pthread_attr_t* attributes,
                                                          void* (*body)(void*), void* argument) {
    if (!oracle::now.scarcity.threads) return EAGAIN;
    static const auto real =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return real(made, attributes, body, argument);
}
}
// NOLINTEND(bugprone-reserved-identifier)
