#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace oratorio {

namespace {

Error failed(std::string_view what, int number) {
    return Error::make(kind_of_errno(number), what, number);
}

std::string new_name() {
    static std::atomic<unsigned> made{0};
    return "/oratorio-" + std::to_string(getpid()) + "-" + std::to_string(made.fetch_add(1));
}

}  // namespace

Result<SharedMemory> SharedMemory::create(Bytes bytes) {
    SharedMemory memory;
    int descriptor = -1;
    do {  // a name may be left over from a process that was killed
        memory.name_ = new_name();
        descriptor = shm_open(memory.name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    } while (descriptor < 0 && errno == EEXIST);
    if (descriptor < 0) {
        memory.name_.clear();
        return failed("shared memory: shm_open", errno);
    }
    const int full = posix_fallocate(descriptor, 0, bytes);
    auto mapped = full == 0 ? memory.map(descriptor, bytes)
                            : failed("shared memory: /dev/shm is too small", full);
    ::close(descriptor);
    if (!mapped) return mapped.error();
    return memory;
}

Result<SharedMemory> SharedMemory::attach(const std::string& name, Bytes bytes) {
    SharedMemory memory;
    const int descriptor = shm_open(name.c_str(), O_RDWR, 0);
    if (descriptor < 0) return failed("shared memory: another rank's is not visible", errno);
    auto mapped = memory.map(descriptor, bytes);
    ::close(descriptor);
    if (!mapped) return mapped.error();
    return memory;
}

Result<void> SharedMemory::map(int descriptor, Bytes bytes) {
    const auto length = static_cast<std::size_t>(bytes);
    void* const at =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (at == MAP_FAILED) return failed("shared memory: mmap", errno);
    memory_ = {static_cast<std::byte*>(at), length};
    return {};
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(memory_, other.memory_);
    return *this;
}

SharedMemory::~SharedMemory() {
    unlink();
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

void SharedMemory::unlink() {
    if (!name_.empty()) shm_unlink(name_.c_str());
    name_.clear();
}

}  // namespace oratorio
