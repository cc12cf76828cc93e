// SPDX-License-Identifier: BSD-3-Clause
// Special behaviour of cluster file systems' clients: sizes that a client does not know yet
// (CephFS), writes that must be flushed (FUSE), locks that forbid accesses (SMB), locks for which a
// process must not wait (9p), files that another node creates first (MooseFS). The linker redirects
// the stores' system calls to this file (--wrap); the data is in a local file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <set>
#include <thread>

#include "store/descriptor_store.hpp"
#include "store/range_lock.hpp"
#include "store/transfer.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio {
namespace {

constexpr long kCeph = 0x00C36400;
constexpr long kSmb = 0xFE534D42;
constexpr long k9p = 0x01021997;
constexpr long kFuse = 0x65735546;
constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};
constexpr OpenMode kReadOnly{.read = true};

/// A simulated client: while `client` is set, the calls below behave as its file system's client
/// does.
struct Client {
    long type = 0;
    /// CephFS: the file's size as the client knows it.
    Bytes known_size = 0;
    /// CephFS: the client knows the right size.
    bool ends_are_known = false;
    std::atomic<int> asks = 0;     ///< number of queries for the size on the server
    std::atomic<int> waits = 0;    ///< number of calls that wait for a lock
    std::atomic<int> refused = 0;  ///< number of transfers that a lock has made fail
    int flushes = 0;               ///< number of calls of fdatasync
    int flush_errno = 0;           ///< errno with which fdatasync fails; 0: it succeeds
    bool denies_all = false;
    /// MooseFS: number of opens of a new file that fail because another node creates the file
    /// first.
    int created_elsewhere = 0;
    int opens = 0;
    std::set<int> sharing;  ///< descriptors that hold a shared lock on data
};
Client* client = nullptr;

class OtherClients : public testing::Test {
  protected:
    OtherClients() { client = &client_; }
    ~OtherClients() override { client = nullptr; }
    [[nodiscard]] std::string path() const { return folder_.file("data"); }
    std::unique_ptr<Store> opened() {
        auto store = open_posix(path(), kReadWrite);
        EXPECT_TRUE(store.ok());
        return std::move(*store);
    }
    /// Fills the file's first `size` bytes with `value`, as another node would, without the
    /// client's knowledge.
    void grow(Bytes size, char value) {
        const std::string text(static_cast<std::size_t>(size), value);
        const Descriptor file(::open(path().c_str(), O_WRONLY | O_CREAT, 0600));
        Client* const before = std::exchange(client, nullptr);
        EXPECT_EQ(::pwrite(file.number(), text.data(), text.size(), 0), size);
        client = before;
    }
    test::TemporaryFolder folder_;
    Client client_;
};

Transferred read_at(Store& store, Offset at, std::span<std::byte> into) {
    return transfer(store, Direction::read, at, into);
}

TEST_F(OtherClients, AReadBehindTheSizeThatAClientOfCephKnowsGetsTheBytes) {
    client_.type = kCeph;
    // For these offsets, the C library interprets the client's result as EMFILE, EINTR, EAGAIN,
    // EINVAL, and twice as no valid errno.
    for (const Offset at : {28, 8, 15, 26, 5000, 100'000}) {
        SCOPED_TRACE(at);
        for (const auto open : {open_posix, open_uncached, open_cached_reads}) {
            grow(4, 'a');
            client_.known_size = 4;
            auto store = open(path(), kReadWrite);
            ASSERT_TRUE(store.ok());
            std::vector<std::byte> bytes(4);
            EXPECT_EQ(read_at(**store, 0, bytes).bytes, 4);
            grow(at + 4, 'b');
            client_.known_size = 4;
            const Transferred done = read_at(**store, at, bytes);
            EXPECT_EQ(done.error.kind, ErrorKind::none) << describe(done.error, "");
            EXPECT_EQ(done.bytes, 4);
            EXPECT_EQ(bytes[3], static_cast<std::byte>('b'));
            EXPECT_EQ(::truncate(path().c_str(), 0), 0);
        }
    }
}

/// Writes four bytes. Returns how many were written.
Bytes write_piece(Store& store, Offset at, Flush flush) {
    std::vector<std::byte> bytes(4);
    const iovec memory{bytes.data(), bytes.size()};
    return transfer(store, nullptr, Direction::write, at, std::span(&memory, 1), flush).bytes;
}

/// Writes four pieces of four bytes, one after the other.
void write_pieces(Store& store, Flush flush) {
    for (Offset at = 0; at < 40; at += 10) EXPECT_EQ(write_piece(store, at, flush), 4);
}

TEST_F(OtherClients, ASeriesOfWritesIsFlushedOnce) {
    client_.type = kFuse;
    auto store = open_uncached(path(), kReadWrite);
    ASSERT_TRUE(store.ok());
    write_pieces(**store, Flush::at_once);
    EXPECT_EQ(client_.flushes, 4) << "each write by itself";
    client_.flushes = 0;
    {
        WriteSeries series(**store);
        write_pieces(**store, Flush::end_of_series);
        EXPECT_EQ(client_.flushes, 0);
        EXPECT_TRUE(series.end().ok());
    }
    EXPECT_EQ(client_.flushes, 1);
    { const WriteSeries empty(**store); }
    EXPECT_EQ(client_.flushes, 1) << "nothing to flush";
}

TEST_F(OtherClients, ASeriesWhoseFlushFailsSaysSo) {
    client_.type = kFuse;
    auto store = open_uncached(path(), kReadWrite);
    ASSERT_TRUE(store.ok());
    client_.flush_errno = ENOSPC;
    WriteSeries series(**store);
    write_pieces(**store, Flush::end_of_series);
    const auto ended = series.end();
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().kind, ErrorKind::no_space);
}

/// The system reports the failure of a flush once, to whichever call flushes first.
TEST_F(OtherClients, ASeriesFailsIfAnotherFlushHasLostItsWrites) {
    client_.type = kFuse;
    for (const auto open : {open_uncached, open_cached_reads}) {
        auto store = open(path(), kReadWrite);
        ASSERT_TRUE(store.ok());
        WriteSeries first(**store);
        WriteSeries second(**store);
        write_pieces(**store, Flush::end_of_series);
        client_.flush_errno = ENOSPC;
        EXPECT_EQ(write_piece(**store, 100, Flush::at_once), 0);
        client_.flush_errno = 0;
        EXPECT_FALSE(first.end().ok());
        EXPECT_FALSE(second.end().ok());
        WriteSeries later(**store);
        write_pieces(**store, Flush::end_of_series);
        EXPECT_TRUE(later.end().ok()) << "no write of this series was lost";
    }
}

TEST_F(OtherClients, EachWriteOfASeriesIsFlushedWhereLocksAreMandatory) {
    client_.type = kSmb;
    auto store = open_uncached(path(), kReadWrite);
    ASSERT_TRUE(store.ok());
    WriteSeries series(**store);
    write_pieces(**store, Flush::end_of_series);
    EXPECT_EQ(client_.flushes, 4);
}

TEST_F(OtherClients, AThreadedStoreGetsTheNewBytesToo) {
    client_.type = kCeph;
    grow(4, 'a');
    client_.known_size = 4;
    auto store = open_threaded(path(), kReadWrite, 4);
    ASSERT_TRUE(store.ok());
    grow(5004, 'b');
    std::vector<std::byte> bytes(4);
    EXPECT_EQ(read_at(**store, 5000, bytes).bytes, 4);
}

TEST_F(OtherClients, AFileThatWasLongerOnceIsReadToItsNewEnd) {
    client_.type = kCeph;
    grow(10'000, 'a');
    auto store = opened();
    std::vector<std::byte> bytes(10'000);
    EXPECT_EQ(read_at(*store, 0, bytes).bytes, 10'000);
    // Another node has shortened the file, which this client knows, and then extended it.
    ASSERT_EQ(::truncate(path().c_str(), 4), 0);
    grow(6000, 'b');
    client_.known_size = 4;
    bytes.resize(100);
    EXPECT_EQ(read_at(*store, 5000, bytes).bytes, 100);
    EXPECT_EQ(read_at(*store, 5950, bytes).bytes, 50);
}

TEST_F(OtherClients, TheSizeIsRefreshedOnlyBeforeReadsThatMayPassIt) {
    client_.type = kCeph;
    client_.ends_are_known = true;
    grow(10'000, 'a');
    auto store = opened();
    std::vector<std::byte> bytes(1000);
    for (Offset at = 0; at < 10'000; at += 1000) EXPECT_EQ(read_at(*store, at, bytes).bytes, 1000);
    EXPECT_EQ(client_.asks, 1);
    EXPECT_EQ(transfer(*store, Direction::write, 20'000, bytes).bytes, 1000);
    EXPECT_EQ(client_.asks, 1);
    EXPECT_EQ(read_at(*store, 20'500, bytes).bytes, 500);
    EXPECT_LE(client_.asks, 3);
}

TEST_F(OtherClients, OnALocalFileSystemTheSizeIsNotRefreshed) {
    client_.type = 0xEF53;
    client_.ends_are_known = true;
    grow(10'000, 'a');
    auto store = opened();
    std::vector<std::byte> bytes(1000);
    EXPECT_EQ(read_at(*store, 9500, bytes).bytes, 500);
    EXPECT_EQ(read_at(*store, 20'000, bytes).bytes, 0);
    EXPECT_EQ(client_.asks, 0);
}

TEST_F(OtherClients, ASharedLockOnSmbLetsItsOwnerWrite) {
    client_.type = kSmb;
    auto store = opened();
    std::vector<std::byte> bytes(100);
    auto held = RangeLock::take(*store, nullptr, {0, 1000}, false);
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(transfer(*store, Direction::write, 10, bytes).error.kind, ErrorKind::none);
    EXPECT_EQ(client_.refused, 0);
    EXPECT_TRUE(held->give_back().ok());
}

TEST_F(OtherClients, AHandleThatOnlyReadsTakesSharedLocksOnSmb) {
    client_.type = kSmb;
    grow(1000, 'a');
    auto one = open_posix(path(), kReadOnly);
    auto two = open_posix(path(), kReadOnly);
    ASSERT_TRUE(one.ok() && two.ok());
    auto held = RangeLock::take(**one, nullptr, {0, 1000}, false);
    ASSERT_TRUE(held.ok()) << describe(held.error(), "");
    // If the first lock were exclusive, this call would wait forever.
    auto beside = RangeLock::take(**two, nullptr, {0, 1000}, false);
    ASSERT_TRUE(beside.ok()) << describe(beside.error(), "");
    std::vector<std::byte> bytes(100);
    EXPECT_EQ(read_at(**one, 10, bytes).bytes, 100);
    EXPECT_EQ(client_.refused, 0);
    EXPECT_TRUE(*opened()->is_locked_elsewhere({0, 1000}));
    EXPECT_TRUE(held->give_back().ok());
    EXPECT_TRUE(beside->give_back().ok());
    EXPECT_FALSE(*opened()->is_locked_elsewhere({0, 1000}));
}

TEST_F(OtherClients, BytesThatSayAHandleIsThereAreSharedOnSmb) {
    client_.type = kSmb;
    auto one = opened();
    auto two = opened();
    const Extent presence{Offset{1} << 62, (Offset{1} << 62) + 1};
    EXPECT_TRUE(one->lock(presence, true, false).ok());
    // If the first lock were exclusive, this call would wait forever.
    EXPECT_TRUE(two->lock(presence, true, false).ok());
}

/// Writes or reads while another handle holds a lock that forbids it. The access must wait and then
/// succeed.
void move_beside_a_lock(Client& here, Store& holder, Store& store, Direction direction) {
    ASSERT_TRUE(holder.lock({0, 1000}, true, true).ok());
    // Opening the stores and the holder's lock() have waited for locks, too.
    const int waits_before = here.waits;
    here.refused = 0;
    std::thread ends([&] {
        while (here.waits == waits_before) std::this_thread::yield();
        EXPECT_TRUE(holder.lock({0, 1000}, false, true).ok());
    });
    std::vector<std::byte> bytes(100);
    const Transferred done = transfer(store, direction, 500, bytes);
    ends.join();
    EXPECT_EQ(done.error.kind, ErrorKind::none) << describe(done.error, "");
    EXPECT_EQ(done.bytes, 100);
    EXPECT_GT(here.refused, 0);
    EXPECT_TRUE(holder.lock({0, 1000}, true, true).ok()) << "the lock was given back";
}

TEST_F(OtherClients, AnAccessThatALockOfAnotherHandleDeniesOnSmbWaitsForIt) {
    client_.type = kSmb;
    grow(1000, 'a');
    for (const Direction direction : {Direction::write, Direction::read}) {
        for (const auto open : {open_posix, open_uncached, open_cached_reads}) {
            auto holder = opened();
            auto store = open(path(), kReadWrite);
            ASSERT_TRUE(store.ok());
            move_beside_a_lock(client_, *holder, **store, direction);
        }
    }
}

TEST_F(OtherClients, AReadOfAHandleThatOnlyReadsWaitsForTheLockThatDeniesItOnSmb) {
    client_.type = kSmb;
    grow(1000, 'a');
    for (const auto open : {open_posix, open_uncached, open_cached_reads}) {
        auto holder = opened();
        auto store = open(path(), kReadOnly);
        ASSERT_TRUE(store.ok());
        move_beside_a_lock(client_, *holder, **store, Direction::read);
    }
}

TEST_F(OtherClients, AnAccessThatIsDeniedAgainAndAgainFails) {
    client_.type = kSmb;
    client_.denies_all = true;
    auto store = opened();
    std::vector<std::byte> bytes(100);
    const Transferred done = transfer(*store, Direction::write, 0, bytes);
    EXPECT_EQ(done.error.kind, ErrorKind::access);
    EXPECT_NE(describe(done.error, "").find("mandatory"), std::string::npos);
    EXPECT_LT(client_.refused, 100);
}

TEST_F(OtherClients, OneHandleHasOneDescriptorOnSmb) {
    client_.type = kSmb;
    OpenMode direct = kReadWrite;
    direct.direct_write = true;
    auto posix = open_posix(path(), direct);
    auto uncached = open_uncached(path(), kReadWrite);
    ASSERT_TRUE(posix.ok() && uncached.ok());
    EXPECT_EQ((*posix)->limits().direct_write.file, 0);
    EXPECT_NE((*posix)->limits().remark.find("direct I/O"), std::string::npos);
    EXPECT_FALSE((*uncached)->duplicate().ok());
}

TEST_F(OtherClients, ALockThatIsDeniedOn9pIsAnErrorAtOnce) {
    client_.type = k9p;
    auto holder = opened();
    auto store = opened();
    ASSERT_TRUE(holder->lock({0, 10}, true, true).ok());
    const auto denied = store->lock({5, 6}, true, true);
    ASSERT_FALSE(denied.ok());
    EXPECT_EQ(denied.error().system_errno, EAGAIN);
    EXPECT_TRUE(holder->lock({0, 10}, false, true).ok());
    EXPECT_TRUE(store->lock({5, 6}, true, true).ok());
    EXPECT_EQ(client_.waits, 0);
}

/// Reads as CephFS's client does. Past the size that the client knows, it returns that size minus
/// the offset. The C library interprets results from -4095 to -1 as errors.
ssize_t read_of_ceph(int descriptor, const iovec& memory, off_t offset) {
    if (offset > client->known_size && !client->ends_are_known) {
        const ssize_t result = client->known_size - offset;
        if (result < -4095) return result;
        errno = static_cast<int>(-result);
        return -1;
    }
    const auto known = client->ends_are_known
                           ? memory.iov_len
                           : static_cast<std::size_t>(client->known_size - offset);
    Client* const here = std::exchange(client, nullptr);
    const ssize_t moved =
        ::pread(descriptor, memory.iov_base, std::min(memory.iov_len, known), offset);
    client = here;
    return moved;
}

/// Returns true if SMB's client refuses a transfer, because another owner holds a lock on the bytes
/// or, for a write, because this descriptor holds a shared lock.
bool is_denied(int descriptor, bool writes, std::size_t bytes, off_t offset) {
    if (client->denies_all) {
        ++client->refused;
        return true;
    }
    struct flock region {};
    region.l_type = writes ? F_WRLCK : F_RDLCK;
    region.l_start = offset;
    region.l_len = static_cast<off_t>(bytes);
    const bool own = writes && client->sharing.contains(descriptor);
    if (!own && (::fcntl(descriptor, F_OFD_GETLK, &region) != 0 || region.l_type == F_UNLCK))
        return false;
    ++client->refused;
    return true;
}

TEST_F(OtherClients, AFileThatAnotherNodeCreatesAtTheSameTimeIsOpened) {
    client_.created_elsewhere = 2;
    EXPECT_TRUE(open_posix(path(), kReadWrite).ok());
    EXPECT_EQ(client_.opens, 3);
}

TEST_F(OtherClients, AFileThatAnotherNodeHasCreatedIsRefusedWhereItMustBeNew) {
    client_.created_elsewhere = 1;
    OpenMode fresh = kReadWrite;
    fresh.exclusive = true;
    const auto opened = open_posix(path(), fresh);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::file_exists);
    EXPECT_EQ(client_.opens, 1);
}

}  // namespace
}  // namespace oratorio

// NOLINTBEGIN(bugprone-reserved-identifier)
using oratorio::client;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t permissions = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (client != nullptr && (flags & O_CREAT) != 0 &&
        client->opens++ < client->created_elsewhere) {
        errno = EEXIST;
        return -1;
    }
    return __real_open(path, flags, permissions);
}

int __real_fstatfs(int descriptor, struct statfs* facts);
int __wrap_fstatfs(int descriptor, struct statfs* facts) {
    const int result = __real_fstatfs(descriptor, facts);
    if (client != nullptr && result == 0) facts->f_type = static_cast<__fsword_t>(client->type);
    return result;
}

int __real_statx(int descriptor, const char* path, int flags, unsigned mask, struct statx* status);
int __wrap_statx(int descriptor, const char* path, int flags, unsigned mask, struct statx* status) {
    const int result = __real_statx(descriptor, path, flags, mask, status);
    if (client != nullptr && (flags & AT_STATX_FORCE_SYNC) != 0) {
        ++client->asks;
        client->known_size = static_cast<oratorio::Bytes>(status->stx_size);
    }
    return result;
}

int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor) {
    if (client == nullptr) return __real_fdatasync(descriptor);
    ++client->flushes;
    if (client->flush_errno == 0) return __real_fdatasync(descriptor);
    errno = client->flush_errno;
    return -1;
}

int __real_fcntl(int descriptor, int command, ...);
int __wrap_fcntl(int descriptor, int command, ...) {
    va_list more;
    va_start(more, command);
    void* const argument = va_arg(more, void*);
    va_end(more);
    if (client != nullptr && command == F_OFD_SETLKW &&
        static_cast<struct flock*>(argument)->l_type != F_UNLCK)
        ++client->waits;
    const int result = __real_fcntl(descriptor, command, argument);
    if (client == nullptr || result != 0) return result;
    if (command != F_OFD_SETLKW && command != F_OFD_SETLK) return result;
    const auto& lock = *static_cast<struct flock*>(argument);
    if (lock.l_type == F_RDLCK && lock.l_start < off_t{1} << 62) client->sharing.insert(descriptor);
    if (lock.l_type == F_UNLCK) client->sharing.erase(descriptor);
    return result;
}

ssize_t __real_pread(int descriptor, void* memory, std::size_t bytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void* memory, std::size_t bytes, off_t offset) {
    if (client != nullptr && client->type == oratorio::kCeph)
        return oratorio::read_of_ceph(descriptor, {memory, bytes}, offset);
    if (client != nullptr && client->type == oratorio::kSmb &&
        oratorio::is_denied(descriptor, false, bytes, offset)) {
        errno = EACCES;
        return -1;
    }
    return __real_pread(descriptor, memory, bytes, offset);
}

ssize_t __real_pwrite(int descriptor, const void* memory, std::size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void* memory, std::size_t bytes, off_t offset) {
    if (client != nullptr && client->type == oratorio::kSmb &&
        oratorio::is_denied(descriptor, true, bytes, offset)) {
        errno = EACCES;
        return -1;
    }
    return __real_pwrite(descriptor, memory, bytes, offset);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
