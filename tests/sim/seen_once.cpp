// SPDX-License-Identifier: BSD-3-Clause
// Maps each piece of shared memory only once in a process, in programs linked with --wrap=mmap and
// --wrap=munmap, so that all ranks of the process see it at the same address. ThreadSanitizer
// identifies memory by its address. With several mappings, it would treat accesses of two ranks to
// the same bytes as accesses to different bytes.
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

extern "C" void* __real_mmap(void*, std::size_t, int, int, int, off_t);
extern "C" int __real_munmap(void*, std::size_t);

namespace {

using File = std::tuple<dev_t, ino_t, std::size_t, off_t>;

struct Seen {
    void* at = nullptr;
    int times = 0;
};

std::mutex lock;
std::map<File, Seen>& seen() {
    static std::map<File, Seen> all;
    return all;
}

}  // namespace

extern "C" void* __wrap_mmap(void* where, std::size_t bytes, int protection, int flags,
                             int descriptor, off_t offset) {
    struct stat file {};
    struct stat folder {};
    const bool shared = (flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0 &&
                        descriptor >= 0 && fstat(descriptor, &file) == 0 &&
                        stat("/dev/shm", &folder) == 0 && file.st_dev == folder.st_dev;
    if (!shared) return __real_mmap(where, bytes, protection, flags, descriptor, offset);
    const std::lock_guard hold(lock);
    Seen& one = seen()[{file.st_dev, file.st_ino, bytes, offset}];
    if (one.times == 0) one.at = __real_mmap(where, bytes, protection, flags, descriptor, offset);
    if (one.at != MAP_FAILED) ++one.times;
    return one.at;
}

extern "C" int __wrap_munmap(void* at, std::size_t bytes) {
    const std::lock_guard hold(lock);
    for (auto one = seen().begin(); one != seen().end(); ++one) {
        if (one->second.at != at) continue;
        if (--one->second.times > 0) return 0;
        seen().erase(one);
        break;
    }
    return __real_munmap(at, bytes);
}
