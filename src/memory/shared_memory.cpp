// SPDX-License-Identifier: BSD-3-Clause
#include "memory/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "base/helper_thread.hpp"
#include "base/system_call.hpp"

namespace oratorio {

namespace {

/// Number of bytes after the memory that hold its name, from which attach() recognises the right
/// object. Only the creator and the ranks that received the name from it know the name. Another
/// container may have processes with the same numbers, and so objects with similar names.
constexpr Bytes kMark = 64;

/// Returns 16 digits: random ones, or zeros if the system has no random number yet.
std::string random_digits() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = 0;
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, number);
    return text;
}

std::string new_name() {
    static std::atomic<unsigned> made{0};  // only makes names unique; publishes nothing
    return "/oratorio-" + std::to_string(getpid()) + "-" + std::to_string(made.fetch_add(1)) + "-" +
           random_digits();
}

/// Allocates pages, and returns 0 or an errno. Blocks signals during the call: on Linux kernels
/// from before 2024, any signal interrupts it, and a repeated call starts from the beginning, so a
/// timer of the program could interrupt every attempt. Memory past the limit of a file's size
/// (ulimit -f) is refused without a signal.
int allocate(int descriptor, Bytes bytes) {
    const SignalsBlocked blocked;
    const int refused = uninterrupted([&] {
                            errno = posix_fallocate(descriptor, 0, bytes);
                            return errno == 0 ? 0 : -1;
                        }).error_number;
    blocked.discard_signal_of(refused);
    return refused;
}

Error another() {
    return Error::make(ErrorKind::io,
                       "shared memory: ranks of this node see different objects under one name; if "
                       "they run in containers, let these share /dev/shm");
}

}  // namespace

Result<SharedMemory> SharedMemory::create(Bytes bytes) {
    SharedMemory memory;
    Descriptor descriptor(-1);
    do {  // repeats if a killed process has left an object of this name
        memory.name_ = new_name();
        descriptor = Descriptor(shm_open(memory.name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
    } while (descriptor.number() < 0 && errno == EEXIST);
    if (descriptor.number() < 0) {
        memory.name_.clear();
        return Error::of_errno("shared memory: shm_open", errno);
    }
    const int refused = allocate(descriptor.number(), bytes + kMark);
    auto mapped = refused == 0 ? memory.map(descriptor.number(), bytes)
                               : Error::of_errno("shared memory: allocating in /dev/shm", refused);
    if (!mapped) return mapped.error();
    std::ranges::copy(memory.name_, memory.mark());
    return memory;
}

Result<SharedMemory> SharedMemory::attach(const std::string& name, Bytes bytes) {
    SharedMemory memory;
    const Descriptor descriptor(shm_open(name.c_str(), O_RDWR, 0));
    if (descriptor.number() < 0)
        return Error::of_errno("shared memory: the memory of another rank is not visible", errno);
    // Mapping more bytes than the object has would end the program at the first access to them
    // (SIGBUS).
    struct stat status {};
    const bool as_long =
        ::fstat(descriptor.number(), &status) == 0 && status.st_size == bytes + kMark;
    auto mapped = as_long ? memory.map(descriptor.number(), bytes) : another();
    if (!mapped) return mapped.error();
    if (name.size() >= kMark || std::string_view(memory.mark(), name.size() + 1) !=
                                    std::string_view(name.c_str(), name.size() + 1))
        return another();
    return memory;
}

char* SharedMemory::mark() const {
    return reinterpret_cast<char*>(memory_.data() + memory_.size());
}

Result<void> SharedMemory::map(int descriptor, Bytes bytes) {
    const auto length = static_cast<std::size_t>(bytes + kMark);
    void* const at =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (at == MAP_FAILED) return Error::of_errno("shared memory: mmap", errno);
    memory_ = {static_cast<std::byte*>(at), static_cast<std::size_t>(bytes)};
    return {};
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(memory_, other.memory_);
    return *this;
}

SharedMemory::~SharedMemory() {
    unlink();
    if (memory_.data() != nullptr) munmap(memory_.data(), memory_.size() + kMark);
}

void SharedMemory::unlink() {
    if (!name_.empty()) shm_unlink(name_.c_str());
    name_.clear();
}

}  // namespace oratorio
