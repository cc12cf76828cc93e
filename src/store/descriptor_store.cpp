// SPDX-License-Identifier: BSD-3-Clause
#include "store/descriptor_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system_call.hpp"
#include "store/direct.hpp"
#include "store/file_system_types.hpp"

namespace oratorio {
namespace {

constexpr std::string_view kLockFailed =
    "lock: the file system may be mounted without locks, or another program may hold a lock";

/// Locks at or after this offset cover no data. They announce a handle to others, show whether
/// other nodes see locks, or make an NFS client send only written bytes.
constexpr Offset kBehindData = Offset{1} << 62;

static_assert(sizeof(off_t) == 8, "file offsets are 64-bit");

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

/// Returns an error if write-back has failed since the descriptor's last sync; on most file systems
/// close(2) doesn't report that. Waits for the write-back of a byte past the end of any file, which
/// takes no time but returns such an error.
Result<void> failed_writes(int descriptor) {
    constexpr Offset kBehindAll = Offset{1} << 62;
    if (::sync_file_range(descriptor, kBehindAll, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0) return {};
    // Other errors mean that this file or system doesn't support the call.
    if (errno != EIO && errno != ENOSPC && errno != EDQUOT) return {};
    return Error::of_errno("close: some data written since the last sync is not on the device");
}

int flags_of(const OpenMode& mode) {
    int flags = mode.read && mode.write ? O_RDWR : mode.write ? O_WRONLY : O_RDONLY;
    if (mode.create) flags |= O_CREAT;
    if (mode.create && mode.exclusive) flags |= O_EXCL;
    return flags | O_CLOEXEC;
}

}  // namespace

Result<OpenedDescriptor> open_descriptor(const std::string& path, const OpenMode& mode, int more) {
    const int flags = flags_of(mode) | more;
    Descriptor file(-1);
    const auto open = [&] {
        file = Descriptor(::open(path.c_str(), flags, static_cast<mode_t>(mode.permissions)));
        return file.number();
    };
    Answer answer = uninterrupted(open);
    // A client of MooseFS reports EEXIST without O_EXCL if another node has just created the file.
    // The next call finds the file.
    const bool must_be_new = (flags & O_EXCL) != 0;
    for (int tries = 1; answer.error_number == EEXIST && !must_be_new && tries < kRetriesMax;
         ++tries)
        answer = uninterrupted(open);
    if (answer.error_number == ESTALE) answer.error_number = ENOENT;  // another client removed it
    if (answer.failed()) return Error::of_errno("open", answer.error_number);
    if (mode.known) return OpenedDescriptor{std::move(file), *mode.known};
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) return Error::of_errno("open: fstat");
    if (S_ISDIR(status.st_mode)) return Error::make(ErrorKind::bad_file, "open", EISDIR);
    const int number = file.number();
    OpenedDescriptor opened{std::move(file)};
    opened.kind.file_system = file_system_of(number);
    opened.kind.one_machine = has_locks_of_one_machine(opened.kind.file_system);
    opened.kind.mandatory_locks = has_mandatory_locks(opened.kind.file_system);
    opened.kind.whole_file_locks = has_whole_file_locks(opened.kind.file_system);
    if (status.st_blksize > 0) opened.kind.block_bytes = status.st_blksize;
    opened.kind.mappable = S_ISREG(status.st_mode) && is_mappable(number, mode.read && mode.write);
    opened.identity = {status.st_dev, status.st_ino};
    return opened;
}

DescriptorStore::DescriptorStore(OpenedDescriptor file, const OpenMode& mode, StoreLimits limits)
    : file_(std::move(file)),
      mode_(mode),
      facts_{std::move(limits), file.kind, file.identity, &extents_, nullptr},
      extents_(file_.number()),
      fetching_(make_prefetch(file_.number(), file.kind.file_system, file.kind.block_bytes)) {
    facts_.prefetch = fetching_.get();
    StoreLimits& own = facts_.limits;
    const long iovecs = ::sysconf(_SC_IOV_MAX);
    if (iovecs > 0) own.iovecs_max = static_cast<int>(iovecs);
    own.block_bytes = kind().block_bytes;
    own.mappable = kind().mappable;
    own.size_may_be_old = !kind().one_machine;
    if (!mode.direct_read && !mode.direct_write) return;
    if (kind().mandatory_locks) {
        own.remark =
            "direct I/O: this file system's locks would block the file's second descriptor; the "
            "page cache is used";
        return;
    }
    DirectFile direct = open_direct(descriptor());
    direct_ = std::move(direct.file);
    own.remark = std::move(direct.refusal);
    if (mode.direct_read) own.direct_read = direct.alignment;
    if (mode.direct_write) own.direct_write = direct.alignment;
}

void DescriptorStore::leave_page_cache(bool flush_before_unlock) {
    facts_.limits.flush_before_unlock = flush_before_unlock;
    facts_.limits.mappable = false;
    facts_.limits.size_may_be_old = false;
    facts_.prefetch = nullptr;
}

bool DescriptorStore::goes_direct(const IoRequest& request) const {
    return is_aligned(request, limits().direct(request.direction));
}

Result<OpenedDescriptor> DescriptorStore::duplicate_file() const {
    Descriptor another(::fcntl(descriptor(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (another.number() < 0) return Error::of_errno("duplicating the file's descriptor");
    return OpenedDescriptor{std::move(another), kind(), number()};
}

void DescriptorStore::give_up_direct() {
    mode_.direct_read = mode_.direct_write = false;
    facts_.limits.direct_read = {};
    facts_.limits.direct_write = {};
    set_remark("direct I/O: the file system refuses direct transfers; the page cache is used");
}

Result<Bytes> DescriptorStore::size() {
    struct statx known {};
    constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
    if (!kind().one_machine && ::statx(descriptor(), "", kFlags, STATX_SIZE, &known) == 0)
        return static_cast<Bytes>(known.stx_size);
    struct stat status {};
    if (::fstat(descriptor(), &status) != 0) return Error::of_errno("size: fstat");
    return Bytes{status.st_size};
}

Result<void> DescriptorStore::resize(Bytes bytes, bool allocate) {
    if (!allocate) {
        const Answer cut = uninterrupted([&] { return ::ftruncate(descriptor(), bytes); });
        if (!cut.failed()) return {};
        return Error::of_errno("resize", cut.error_number).at(bytes, 0);
    }
    if (bytes == 0) return {};
    const Answer given = uninterrupted([&] { return ::fallocate(descriptor(), 0, 0, bytes); });
    if (!given.failed()) return {};
    return Error::of_errno("allocate", given.error_number).at(0, bytes);
}

Result<void> DescriptorStore::sync() {
    const Answer flushed = uninterrupted([&] { return ::fsync(descriptor()); });
    if (!flushed.failed()) return {};
    if (flushed.error_number != EROFS) return Error::of_errno("sync", flushed.error_number);
    // After a write-back error made the file system read-only, the first descriptor to flush may
    // get that error, and later ones EROFS. Return the same kind of error for all of them.
    return Error::make(ErrorKind::io,
                       "sync: an error made the file system read-only; data written since the last "
                       "sync may be lost",
                       EROFS);
}

// Uses open file description locks: unlike traditional POSIX locks, they work between threads, and
// closing another descriptor of the same file doesn't drop them.
Result<void> DescriptorStore::lock(Extent range, bool lock, bool exclusive) {
    if (range.empty()) return {};  // a length of 0 would mean "to the end of the file"
    // The system refuses shared locks on a write-only descriptor and exclusive ones on a read-only
    // descriptor. A handle that only reads needs no more than a shared lock.
    const bool write_only = mode_.write && !mode_.read;
    const bool read_only = !mode_.write;
    const bool of_data = range.begin < kBehindData;
    // A shared mandatory lock also denies its owner's writes.
    const bool denies_own = kind().mandatory_locks && of_data;
    const bool shares = read_only || (!exclusive && !write_only && !denies_own);
    struct flock region = lock_of(range, !lock ? F_UNLCK : shares ? F_RDLCK : F_WRLCK);
    const Answer locked = change_lock(region);
    if (!locked.failed()) {
        if (of_data) locks_held_ += lock ? 1 : -1;
        return {};
    }
    return Error::of_errno(lock ? kLockFailed : "unlock", locked.error_number)
        .at(range.begin, range.length());
}

/// Takes or releases the lock. Waits for conflicting locks of other handles, except where every
/// lock covers the whole file. There, this library takes only shared locks, and none on data,
/// so a conflicting lock usually belongs to another program, which may keep it as long as it has
/// the file open: a denied lock is an error.
Answer DescriptorStore::change_lock(struct flock& region) const {
    const int command = kind().whole_file_locks ? F_OFD_SETLK : F_OFD_SETLKW;
    return uninterrupted([&] { return ::fcntl(descriptor(), command, &region); });
}

Result<bool> DescriptorStore::is_locked_elsewhere(Extent range) {
    struct flock region = lock_of(range, F_WRLCK);
    const Answer asked = uninterrupted([&] { return ::fcntl(descriptor(), F_OFD_GETLK, &region); });
    if (!asked.failed()) return region.l_type != F_UNLCK;
    return Error::of_errno(kLockFailed, asked.error_number).at(range.begin, range.length());
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
