// SPDX-License-Identifier: BSD-3-Clause
// Maps ranges of files into memory with mmap, and turns bus errors into Errors.
#include "store/mapped.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system_call.hpp"
#include "memory/machine_memory.hpp"
#include "store/bus_error.hpp"

namespace oratorio {
namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE (Linux 5.14); EINVAL on older kernels

// Returns true for tmpfs, where populating a mapping pays off: writes then take 0.7 times as long.
// For reads, and on file systems with large folios, one fault maps many pages anyway, and
// populating takes 1.0 to 1.5 times as long (measured on Linux 6.18, ext4).
bool is_tmpfs(int descriptor) {
    struct statfs system {};
    return ::fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

int protection(bool write) {
    return write ? PROT_READ | PROT_WRITE : PROT_READ;
}

// Calls the kernel directly, because MPI libraries (UCX) hook the C library's munmap and keep a
// 150-byte record of each call until the next long message. The hook isn't needed: no message is
// sent from a mapping.
void* map(std::size_t length, bool write, int descriptor, Offset from) {
    return reinterpret_cast<void*>(
        ::syscall(SYS_mmap, nullptr, length, protection(write), MAP_SHARED, descriptor, from));
}

void unmap(void* memory, std::size_t length) {
    (void)::syscall(SYS_munmap, memory, length);
}

// A file system with less free space than a large page counts as full, because it may allocate a
// large page at once.
constexpr Bytes kLargePage = 2 << 20;

bool is_full(int descriptor) {
    struct statvfs space {};
    return ::fstatvfs(descriptor, &space) == 0 && space.f_blocks > 0 &&
           static_cast<Bytes>(space.f_bavail * space.f_frsize) < kLargePage;
}

// Returns the errno for a bus error at `page` of a mapped file: ENOSPC or EDQUOT if a write found
// no space for the page, otherwise EIO. To tell them apart, tries to allocate the page with
// fallocate(2), which reports errors. fallocate may succeed although space ran out, because the
// fault may have requested a larger allocation (kLargePage). So the result is also ENOSPC if the
// page was in a hole or the file system is_full().
int reason_of_fault(int descriptor, Direction direction, Offset page) {
    struct stat status {};
    if (direction == Direction::read || ::fstat(descriptor, &status) != 0) return EIO;
    if (page >= status.st_size) return EIO;  // another process truncated the file
    const bool hole = ::lseek(descriptor, page, SEEK_HOLE) == page;
    const bool given = ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, page, page_bytes()) == 0;
    if (!given && (errno == ENOSPC || errno == EDQUOT)) return errno;
    return hole || is_full(descriptor) ? ENOSPC : EIO;
}

class FileWindow final : public MappedWindow {
  public:
    /// `pages` is the mapped memory: from the page boundary `first` to the end of `range`, which is
    /// the part that the caller asked for.
    FileWindow(int descriptor, Direction direction, Extent range, Offset first,
               std::span<std::byte> pages)
        : descriptor_(descriptor),
          direction_(direction),
          range_(range),
          first_(first),
          pages_(pages) {}
    ~FileWindow() override { unmap(pages_.data(), pages_.size()); }

    Result<void> guarded(const Touch& touch) override {
        const Mend mend{[](void* self, std::byte* at) {
                            return static_cast<FileWindow*>(self)->give_zeros(at);
                        },
                        this};
        const bool reads = direction_ == Direction::read;
        const std::byte* fault = catch_bus_error(pages_, touch, reads ? mend : Mend{});
        if (fault == nullptr) return {};
        const Offset within = (fault - pages_.data()) / page_bytes() * page_bytes();
        const int number = reason_of_fault(descriptor_, direction_, first_ + within);
        const Offset at = std::max(range_.begin, first_ + within);
        return Error::of_errno("access to a mapped file", number).at(at, range_.end - at);
    }

  private:
    /// Maps private zeros in place of the hole at `at` while this window lives, because reading a
    /// hole on tmpfs allocates a page, and a full tmpfs has none left. Returns false if there is no
    /// hole or the mapping fails. Runs in a signal handler.
    bool give_zeros(std::byte* at) {
        const Offset page = first_ + (at - pages_.data()) / page_bytes() * page_bytes();
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0 || page >= status.st_size) return false;
        Offset end = ::lseek(descriptor_, page, SEEK_DATA);
        if (end < 0 && errno != ENXIO) return false;
        end = end < 0 ? status.st_size : end / page_bytes() * page_bytes();
        end = std::min(end, first_ + static_cast<Bytes>(pages_.size()));
        if (end <= page) return false;
        return ::mmap(pages_.data() + (page - first_), static_cast<std::size_t>(end - page),
                      PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    }

    int descriptor_;
    Direction direction_;
    Extent range_;
    Offset first_;
    std::span<std::byte> pages_;
};

// Extends the file by allocating its last byte. Of all calls that extend a file, fallocate alone
// can neither shorten it nor change a byte if others have extended it at the same time.
int extend(int descriptor, Bytes bytes) {
    return uninterrupted([&] { return ::fallocate(descriptor, 0, bytes - 1, 1); }).error_number;
}

Error map_error(std::string_view what, int number, Extent range) {
    const bool unsupported = number == ENODEV || number == EACCES || number == EPERM ||
                             number == EOPNOTSUPP || number == ENOSYS;
    const ErrorKind kind = unsupported ? ErrorKind::unsupported_operation : kind_of_errno(number);
    return Error::make(kind, what, number).at(range.begin, range.length());
}

}  // namespace

Result<Mapped> map_file(int descriptor, Extent range, Direction direction, Populate populate) {
    const bool write = direction == Direction::write;
    const int access = ::fcntl(descriptor, F_GETFL) & O_ACCMODE;
    if (write && access == O_RDONLY)
        return map_error("map: the file isn't open for writing", EBADF, range);
    if (access == O_WRONLY) return map_error("map: the file isn't open for reading", EACCES, range);
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return map_error("map: fstat", errno, range);
    if (!S_ISREG(status.st_mode)) {
        return map_error("map: this is not a regular file", ENODEV, range);
    }
    if (write && !range.empty() && status.st_size < range.end) {
        if (const int number = extend(descriptor, range.end); number != 0)
            return map_error("map: the file can't be extended", number, range);
    }
    if (!write) range.end = std::min<Offset>(range.end, status.st_size);
    if (range.empty()) return Mapped(range.begin, {}, nullptr);

    const Offset first = range.begin / page_bytes() * page_bytes();
    const auto length = static_cast<std::size_t>(range.end - first);
    void* memory = map(length, write, descriptor, first);
    if (memory == MAP_FAILED) {
        return map_error("map: the file system refuses to map the file", errno, range);
    }
    // A failure to populate isn't an error: page faults then provide the pages one by one, and if a
    // fault fails as well, guarded() returns an error with the offset.
    if (populate == Populate::yes && write && is_tmpfs(descriptor))
        (void)::madvise(memory, length, kPopulateWrite);
    const std::span pages(static_cast<std::byte*>(memory), length);
    auto window = std::make_unique<FileWindow>(descriptor, direction, range, first, pages);
    return Mapped(range.begin, pages.subspan(static_cast<std::size_t>(range.begin - first)),
                  std::move(window));
}

bool is_mappable(int descriptor, bool write) {
    const auto length = static_cast<std::size_t>(page_bytes());
    void* memory = map(length, write, descriptor, 0);
    if (memory == MAP_FAILED) return false;
    unmap(memory, length);
    return true;
}

}  // namespace oratorio
