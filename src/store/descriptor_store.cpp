// SPDX-License-Identifier: BSD-3-Clause
#include "store/descriptor_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "store/direct.hpp"

namespace oratorio {
namespace {

static_assert(sizeof(off_t) == 8, "file offsets are 64-bit");

// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call call) {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

long file_system_of(int descriptor) {
    struct statfs facts {};
    return ::fstatfs(descriptor, &facts) == 0 ? static_cast<long>(facts.f_type) : 0;
}

struct flock lock_of(Extent range, int type) {
    struct flock region {};
    region.l_type = static_cast<short>(type);
    region.l_whence = SEEK_SET;
    region.l_start = range.begin;
    region.l_len = range.length();
    return region;
}

/// What the system couldn't write since the descriptor's last sync: close(2) doesn't tell it. To
/// wait for bytes that no file has is to wait for nothing, and tells it all the same.
Result<void> failed_writes(int descriptor) {
    constexpr Offset kBehindAll = Offset{1} << 62;
    if (::sync_file_range(descriptor, kBehindAll, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0) return {};
    // Others mean that it can't be asked: not of this file, or not of this system.
    if (errno != EIO && errno != ENOSPC && errno != EDQUOT) return {};
    return Error::of_errno("close: what was written since the last sync isn't all on the device");
}

int flags_of(const OpenMode& mode) {
    int flags = mode.read && mode.write ? O_RDWR : mode.write ? O_WRONLY : O_RDONLY;
    if (mode.create) flags |= O_CREAT;
    if (mode.create && mode.exclusive) flags |= O_EXCL;
    return flags | O_CLOEXEC;
}

}  // namespace

Result<OpenedFile> open_descriptor(const std::string& path, const OpenMode& mode, int more) {
    Descriptor file(uninterrupted([&] {
        return ::open(path.c_str(), flags_of(mode) | more, static_cast<mode_t>(mode.permissions));
    }));
    if (file.number() < 0 && errno == ESTALE) errno = ENOENT;  // another client has removed it
    if (file.number() < 0) return Error::of_errno("open");
    if (mode.known) return OpenedFile{std::move(file), *mode.known};
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) return Error::of_errno("open: fstat");
    if (S_ISDIR(status.st_mode)) return Error::make(ErrorKind::bad_file, "open", EISDIR);
    const int number = file.number();
    OpenedFile opened{std::move(file)};
    opened.kind.file_system = file_system_of(number);
    if (status.st_blksize > 0) opened.kind.block_bytes = status.st_blksize;
    opened.kind.mappable = S_ISREG(status.st_mode) && is_mappable(number, mode.read && mode.write);
    opened.identity = {status.st_dev, status.st_ino};
    return opened;
}

DescriptorStore::DescriptorStore(OpenedFile file, const OpenMode& mode)
    : file_(std::move(file)), mode_(mode), extents_(file_.number()) {
    kind_ = file.kind;
    number_ = file.identity;
    disk_map_ = &extents_;
    const long iovecs = ::sysconf(_SC_IOV_MAX);
    if (iovecs > 0) limits_.iovecs_max = static_cast<int>(iovecs);
    limits_.block_bytes = kind_.block_bytes;
    limits_.mappable = kind_.mappable;
    fetching_ = make_prefetch(file_.number(), kind_.file_system, kind_.block_bytes);
    prefetch_ = fetching_.get();
    if (!mode.direct_read && !mode.direct_write) return;
    DirectFile direct = open_direct(descriptor());
    direct_ = std::move(direct.file);
    limits_.remark = std::move(direct.refusal);
    if (mode.direct_read) limits_.direct_read = direct.alignment;
    if (mode.direct_write) limits_.direct_write = direct.alignment;
}

bool DescriptorStore::goes_direct(const IoRequest& request) const {
    return is_aligned(request, limits_.direct(request.direction));
}

Result<OpenedFile> DescriptorStore::duplicate_file() const {
    Descriptor another(::fcntl(descriptor(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (another.number() < 0) return Error::of_errno("duplicating the file's descriptor");
    return OpenedFile{std::move(another), kind_, number_};
}

void DescriptorStore::give_up_direct() {
    mode_.direct_read = mode_.direct_write = false;
    limits_.direct_read = {};
    limits_.direct_write = {};
    limits_.remark = "direct I/O: the file system refuses transfers; the page cache is used";
}

Result<Bytes> DescriptorStore::size() {
    struct stat status {};
    if (::fstat(descriptor(), &status) != 0) return Error::of_errno("size: fstat");
    return Bytes{status.st_size};
}

Result<void> DescriptorStore::resize(Bytes bytes, bool allocate) {
    if (!allocate) {
        if (uninterrupted([&] { return ::ftruncate(descriptor(), bytes); }) == 0) return {};
        return Error::of_errno("resize").at(bytes, 0);
    }
    if (bytes == 0) return {};
    if (uninterrupted([&] { return ::fallocate(descriptor(), 0, 0, bytes); }) == 0) return {};
    return Error::of_errno("allocate").at(0, bytes);
}

Result<void> DescriptorStore::sync() {
    if (uninterrupted([&] { return ::fsync(descriptor()); }) == 0) return {};
    if (errno != EROFS) return Error::of_errno("sync");
    // The first descriptor to flush may have been told of the failed writes, and those after it of
    // what the file system made of them: one kind for all.
    return Error::make(ErrorKind::io,
                       "sync: an error made the file system read-only; what was written since the "
                       "last sync may be lost",
                       EROFS);
}

// Open file description locks: unlike the older kind they hold between threads, and closing another
// descriptor of the same file doesn't drop them.
Result<void> DescriptorStore::lock(Extent range, bool lock, bool exclusive) {
    if (range.empty()) return {};  // a length of 0 would mean "to the end of the file"
    const bool write_only = mode_.write && !mode_.read;
    const bool shares = !exclusive && !write_only;  // the system's rule
    struct flock region = lock_of(range, !lock ? F_UNLCK : shares ? F_RDLCK : F_WRLCK);
    if (uninterrupted([&] { return ::fcntl(descriptor(), F_OFD_SETLKW, &region); }) == 0) return {};
    return Error::of_errno(lock ? "lock: this file system may be mounted without locks" : "unlock")
        .at(range.begin, range.length());
}

Result<bool> DescriptorStore::is_locked_elsewhere(Extent range) {
    struct flock region = lock_of(range, F_WRLCK);
    if (uninterrupted([&] { return ::fcntl(descriptor(), F_OFD_GETLK, &region); }) == 0)
        return region.l_type != F_UNLCK;
    return Error::of_errno("lock: this file system may be mounted without locks")
        .at(range.begin, range.length());
}

Result<Mapped> DescriptorStore::map(Extent range, Direction direction, Populate populate) {
    return map_file(descriptor(), range, direction, populate);
}

Result<void> DescriptorStore::close() {
    auto closed = failed_writes(descriptor());
    for (Descriptor* const one : {&file_, &direct_}) {
        if (auto now = one->close(); closed) closed = now;
    }
    return closed;
}

Result<FileNumber> number_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return Error::of_errno("stat");
    return FileNumber{status.st_dev, status.st_ino};
}

Result<void> remove_file(const std::string& path) {
    if (::unlink(path.c_str()) == 0) return {};
    return Error::of_errno("delete");
}

}  // namespace oratorio
