// SPDX-License-Identifier: BSD-3-Clause
#include "base/standard_error.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/helper_thread.hpp"

namespace oratorio {
namespace {

/// Identifies the file that standard error was when the preload library or, without one, this
/// library was loaded.
struct Original {
    bool open = false;
    dev_t device = 0;
    ino_t number = 0;
    int kept = -1;  ///< a duplicate of descriptor 2, in case the program closes or replaces it
};

Original original;

bool is_original(int descriptor) {
    struct stat status {};
    return original.open && descriptor >= 0 && ::fstat(descriptor, &status) == 0 &&
           status.st_dev == original.device && status.st_ino == original.number;
}

Original look() {
    struct stat status {};
    if (::fstat(STDERR_FILENO, &status) != 0) return {};
    return {.open = true, .device = status.st_dev, .number = status.st_ino};
}

/// Remembers which file standard error is. The preload library is loaded when the process starts,
/// and this is all that it does at that time. It loads the other libraries at the first call of
/// MPI, when the program may already have replaced standard error. So those libraries ask the
/// preload library what it has seen, through the symbol that it exports, and keep a copy of the
/// descriptor.
[[gnu::constructor]] void remember() {
#ifdef ORATORIO_PRELOAD
    original = look();
#else
    using Seen = const void* (*)();
    const auto seen = reinterpret_cast<Seen>(::dlsym(RTLD_DEFAULT, "oratorio_standard_error"));
    original = seen != nullptr ? *static_cast<const Original*>(seen()) : look();
    if (is_original(STDERR_FILENO))
        original.kept = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
#endif
}

int where_to_write() {
    for (const int descriptor : {STDERR_FILENO, original.kept})
        if (is_original(descriptor)) return descriptor;
    return -1;
}

}  // namespace

#ifdef ORATORIO_PRELOAD
}  // namespace oratorio
/// Returns `original` of the preload library to the libraries that it loads; see remember().
extern "C" __attribute__((visibility("default"))) const void* oratorio_standard_error() {
    return &oratorio::original;
}
namespace oratorio {
#endif

void write_to_standard_error(std::string_view text) {
    const int descriptor = where_to_write();
    if (descriptor < 0) return;
    const SignalsBlocked blocked;
    if (::write(descriptor, text.data(), text.size()) < 0) blocked.discard_signal_of(errno);
}

}  // namespace oratorio
