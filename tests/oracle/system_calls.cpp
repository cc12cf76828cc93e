// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/system_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdarg>
#include <utility>

namespace oratorio::oracle {

namespace {

constexpr int kFirst = 1 << 24;  // the first simulated descriptor, higher than any that the
                                 // kernel returns
System* system_now = nullptr;

Connection* connection(int descriptor) {
    return system_now == nullptr ? nullptr : system_now->find(descriptor);
}

template <class Answer>
Answer told(Answer answer) {
    constexpr Answer kLastErrno = -4095;
    if (answer >= 0 || answer < kLastErrno) return answer;
    errno = static_cast<int>(-answer);
    return -1;
}

int control_lock(Connection& by, int command, struct flock* region) {
    const Extent range{region->l_start, region->l_start + region->l_len};
    if (command == F_OFD_GETLK) {
        const auto held = by.server->is_locked_elsewhere(range);
        region->l_type = static_cast<short>(held && *held ? F_WRLCK : F_UNLCK);
        return 0;
    }
    const bool locks = region->l_type != F_UNLCK;
    if (command == F_OFD_SETLK && locks && by.client->puts_off(by, range)) return -EAGAIN;
    return by.client->lock(by, range, locks, region->l_type == F_WRLCK);
}

ssize_t move(Connection& by, Direction direction, const iovec* memory, int count, Offset offset) {
    const std::span pieces(memory, static_cast<std::size_t>(count));
    return direction == Direction::read ? by.client->read(by, offset, pieces)
                                        : by.client->write(by, offset, pieces);
}

}  // namespace

System::System(ClientKind kind, std::function<std::unique_ptr<SimulatedStore>()> connect,
               std::function<Client&()> here)
    : kind_(kind), connect_(std::move(connect)), here_(std::move(here)), next_(kFirst) {
    system_now = this;
}

System::~System() {
    system_now = nullptr;
}

System* System::running() {
    return system_now;
}

int System::open(int flags) {
    const Spared spared;
    const bool direct = (flags & O_DIRECT) != 0;
    if (direct && kind_ == ClientKind::nfs_by_pages) return -EINVAL;
    Connection& made = open_[next_];
    made.client = &here_();
    made.server = connect_();
    made.direct = direct;
    const int descriptor = next_++;
    made.client->open(made);
    return descriptor;
}

Connection* System::find(int descriptor) {
    const auto found = open_.find(descriptor);
    return found == open_.end() ? nullptr : &found->second;
}

int System::close(int descriptor) {
    const Spared spared;
    Connection& one = open_.at(descriptor);
    const int closed = one.client->close(one);
    open_.erase(descriptor);
    return closed;
}

long System::type() const {
    return facts_of(kind_).file_system;
}

}  // namespace oratorio::oracle

// The names in this block are the linker's, for the wrapped functions (__wrap_) and the real ones
// (__real_).
// NOLINTBEGIN(bugprone-reserved-identifier)
using namespace oratorio;
using oracle::Connection;
using oracle::told;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : mode_t{};
    va_end(more);
    oracle::System* const system = oracle::System::running();
    if (system != nullptr && oracle::System::path == path) return told(system->open(flags));
    return __real_open(path, flags, mode);
}

int __real_close(int descriptor);
int __wrap_close(int descriptor) {
    if (oracle::connection(descriptor) == nullptr) return __real_close(descriptor);
    return told(oracle::System::running()->close(descriptor));
}

int __real_fcntl(int descriptor, int command, ...);
int __wrap_fcntl(int descriptor, int command, ...) {
    va_list more;
    va_start(more, command);
    void* const argument = va_arg(more, void*);
    va_end(more);
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_fcntl(descriptor, command, argument);
    switch (command) {
        case F_GETFL:
            return O_RDWR | (by->direct ? O_DIRECT : 0);
        case F_SETFL:
            by->direct = (reinterpret_cast<std::intptr_t>(argument) & O_DIRECT) != 0;
            return 0;
        case F_OFD_GETLK:
        case F_OFD_SETLK:
        case F_OFD_SETLKW:
            return told(oracle::control_lock(*by, command, static_cast<struct flock*>(argument)));
        default:
            return told(-EINVAL);
    }
}

int __real_fstat(int descriptor, struct stat* status);
int __wrap_fstat(int descriptor, struct stat* status) {
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_fstat(descriptor, status);
    *status = {};
    status->st_mode = S_IFREG | 0600;
    status->st_dev = status->st_ino = 1;
    status->st_blksize = 4096;
    status->st_size = by->client->size(*by, false);
    return 0;
}

int __real_statx(int descriptor, const char* path, int flags, unsigned mask, struct statx* status);
int __wrap_statx(int descriptor, const char* path, int flags, unsigned mask, struct statx* status) {
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_statx(descriptor, path, flags, mask, status);
    *status = {};
    status->stx_mask = STATX_SIZE;
    status->stx_size =
        static_cast<std::uint64_t>(by->client->size(*by, (flags & AT_STATX_FORCE_SYNC) != 0));
    return 0;
}

int __real_statfs(const char* path, struct statfs* facts);
int __wrap_statfs(const char* path, struct statfs* facts) {
    oracle::System* const system = oracle::System::running();
    if (system == nullptr || oracle::System::path != path) return __real_statfs(path, facts);
    *facts = {};
    facts->f_type = system->type();
    return 0;
}

int __real_fstatfs(int descriptor, struct statfs* facts);
int __wrap_fstatfs(int descriptor, struct statfs* facts) {
    if (oracle::connection(descriptor) == nullptr) return __real_fstatfs(descriptor, facts);
    return __wrap_statfs(oracle::System::path.data(), facts);
}

ssize_t __real_preadv(int descriptor, const iovec* memory, int count, off_t offset);
ssize_t __wrap_preadv(int descriptor, const iovec* memory, int count, off_t offset) {
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_preadv(descriptor, memory, count, offset);
    return told(oracle::move(*by, Direction::read, memory, count, offset));
}

ssize_t __real_pwritev(int descriptor, const iovec* memory, int count, off_t offset);
ssize_t __wrap_pwritev(int descriptor, const iovec* memory, int count, off_t offset) {
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_pwritev(descriptor, memory, count, offset);
    return told(oracle::move(*by, Direction::write, memory, count, offset));
}

ssize_t __real_pread(int descriptor, void* memory, std::size_t bytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void* memory, std::size_t bytes, off_t offset) {
    if (oracle::connection(descriptor) == nullptr)
        return __real_pread(descriptor, memory, bytes, offset);
    const iovec whole{memory, bytes};
    return __wrap_preadv(descriptor, &whole, 1, offset);
}

ssize_t __real_pwrite(int descriptor, const void* memory, std::size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void* memory, std::size_t bytes, off_t offset) {
    if (oracle::connection(descriptor) == nullptr)
        return __real_pwrite(descriptor, memory, bytes, offset);
    const iovec whole{const_cast<void*>(memory), bytes};
    return __wrap_pwritev(descriptor, &whole, 1, offset);
}

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor) {
    Connection* const by = oracle::connection(descriptor);
    return by == nullptr ? __real_fsync(descriptor) : told(by->client->sync(*by));
}

int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor) {
    Connection* const by = oracle::connection(descriptor);
    return by == nullptr ? __real_fdatasync(descriptor) : told(by->client->sync(*by));
}

int __real_ftruncate(int descriptor, off_t bytes);
int __wrap_ftruncate(int descriptor, off_t bytes) {
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_ftruncate(descriptor, bytes);
    return told(by->client->resize(*by, bytes, false));
}

int __real_posix_fadvise(int descriptor, off_t offset, off_t bytes, int advice);
int __wrap_posix_fadvise(int descriptor, off_t offset, off_t bytes, int advice) {
    Connection* const by = oracle::connection(descriptor);
    if (by == nullptr) return __real_posix_fadvise(descriptor, offset, bytes, advice);
    if (advice == POSIX_FADV_DONTNEED) by->client->drop_pages();
    return 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)
