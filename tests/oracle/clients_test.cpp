// SPDX-License-Identifier: BSD-3-Clause
// Tests of the simulated clients, and of the library's store for such file systems on top of them.
// One rank opens the file on two nodes in turn.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "oracle/system_calls.hpp"
#include "store/transfer.hpp"

namespace oratorio::oracle {
namespace {

using Memory = std::vector<std::byte>;
using Opened = Result<std::unique_ptr<Store>>;

/// Two nodes that share a file of 8192 bytes of value 1. Their clients do nothing unprompted.
class Nodes {
  public:
    explicit Nodes(ClientKind kind)
        : fibers_(stacks_, 2, Pace::even, 0),
          one_(fibers_, server_, kind),
          two_(fibers_, server_, kind),
          system_(
              kind,
              [this, kind] {
                  const auto options = server_options(facts_of(kind), second_ ? 1 : 0);
                  return std::make_unique<SimulatedStore>(fibers_, storage_, 0, fault, options);
              },
              [this]() -> Client& { return second_ ? two_ : one_; }) {
        storage_.disk.write(0, Memory(8192, std::byte{1}));
        one_.keep_still();
        two_.keep_still();
    }
    /// Calls `body` with a store on each node.
    template <class Body>
    void run(Opened (*open)(const std::string&, const OpenMode&), const Body& body) {
        fibers_.add("rank 0", [&] {
            auto first = opened(open, false);
            auto second = opened(open, true);
            ASSERT_TRUE(first.ok() && second.ok());
            body(**first, **second);
        });
        EXPECT_EQ(fibers_.run(), "");
    }
    Opened opened(Opened (*open)(const std::string&, const OpenMode&), bool on_second) {
        second_ = on_second;
        return open(std::string(System::path), {.read = true, .write = true});
    }
    /// Makes later opens happen on the second node, or on the first.
    void move_to(bool second) { second_ = second; }
    [[nodiscard]] std::byte on_server(Offset at) const {
        return storage_.disk.contents({at, at + 1})[0];
    }
    Fault fault;

  private:
    Stacks stacks_;
    Fibers fibers_;
    Storage storage_;
    Server server_{storage_};
    Client one_;
    Client two_;
    bool second_ = false;
    System system_;
};

Transferred write(Store& store, Offset at, int value, std::size_t bytes = 4) {
    Memory data(bytes, static_cast<std::byte>(value));
    return transfer(store, Direction::write, at, data);
}

int read(Store& store, Offset at) {
    Memory data(1);
    return transfer(store, Direction::read, at, data).bytes == 1 ? static_cast<int>(data[0]) : -1;
}

TEST(Clients, TakeEachOthersBytesBackWhereTheyShareAPage) {
    Nodes nodes(ClientKind::nfs);
    nodes.run(open_posix, [&](Store& one, Store& two) {
        write(one, 0, 7);
        write(two, 4, 8);
        EXPECT_TRUE(one.sync().ok());
        EXPECT_TRUE(two.sync().ok());
    });
    EXPECT_EQ(nodes.on_server(0), std::byte{1});
    EXPECT_EQ(nodes.on_server(4), std::byte{8});
}

TEST(Clients, NfsClientsFlushAndReloadAtALock) {
    Nodes nodes(ClientKind::nfs);
    nodes.run(open_posix, [&](Store& one, Store& two) {
        EXPECT_TRUE(one.lock({100'000, 100'001}, true, false).ok());
        EXPECT_TRUE(two.lock({100'000, 100'001}, true, false).ok());
        EXPECT_EQ(read(one, 4), 1);
        write(one, 0, 7);
        write(two, 4, 8);
        EXPECT_TRUE(one.sync().ok());
        EXPECT_TRUE(two.sync().ok());
        EXPECT_EQ(read(one, 4), 1);
        EXPECT_TRUE(one.lock({100'000, 100'001}, true, false).ok());
        EXPECT_EQ(read(one, 4), 8);
    });
    EXPECT_EQ(nodes.on_server(0), std::byte{7});
    EXPECT_EQ(nodes.on_server(4), std::byte{8});
}

TEST(Clients, AreRightByTheUncachedStore) {
    for (const auto kind :
         {ClientKind::nfs, ClientKind::nfs_by_pages, ClientKind::nfs_refusing, ClientKind::fuse}) {
        SCOPED_TRACE(static_cast<int>(kind));
        Nodes nodes(kind);
        nodes.run(open_uncached, [&](Store& one, Store& two) {
            EXPECT_EQ(read(one, 4), 1);
            write(one, 0, 7);
            write(two, 4, 8);
            EXPECT_EQ(read(one, 4), 8);
            EXPECT_EQ(read(two, 0), 7);
            write(two, 9000, 9);
            EXPECT_EQ(read(one, 9000), 9);
            EXPECT_EQ(*one.size(), 9004);
        });
    }
}

/// Both nodes have cached the page that both write. Writes are on the server at once, and each node
/// reads the other's bytes after a sync.
TEST(Clients, AreRightAfterASyncByTheStoreOfCachedReads) {
    for (const auto kind : {ClientKind::nfs, ClientKind::nfs_by_pages, ClientKind::nfs_refusing,
                            ClientKind::fuse, ClientKind::smb, ClientKind::moose}) {
        SCOPED_TRACE(static_cast<int>(kind));
        Nodes nodes(kind);
        nodes.run(open_cached_reads, [&](Store& one, Store& two) {
            EXPECT_EQ(read(one, 4), 1);
            EXPECT_EQ(read(two, 0), 1);
            write(one, 0, 7);
            write(two, 4, 8);
            EXPECT_EQ(nodes.on_server(0), std::byte{7});
            EXPECT_EQ(nodes.on_server(4), std::byte{8});
            EXPECT_EQ(read(one, 0), 7);
            EXPECT_TRUE(one.sync().ok());
            EXPECT_EQ(read(one, 4), 8);
            EXPECT_TRUE(two.sync().ok());
            EXPECT_EQ(read(two, 0), 7);
            write(one, 0, 5);
            EXPECT_EQ(read(two, 0), 7) << "from the cache";
            EXPECT_TRUE(two.sync().ok());
            EXPECT_EQ(read(two, 0), 5);
            write(two, 9000, 9);
            EXPECT_EQ(read(one, 9000), 9);
            EXPECT_EQ(*one.size(), 9004);
        });
    }
}

TEST(Clients, TheStoreOfCachedReadsAsksTheServerForLargePieces) {
    for (const auto kind : {ClientKind::nfs, ClientKind::fuse}) {
        SCOPED_TRACE(static_cast<int>(kind));
        Nodes nodes(kind);
        nodes.run(open_cached_reads, [&](Store& one, Store& two) {
            EXPECT_EQ(read(one, 4), 1);
            write(two, 4, 8);
            for (const auto& [bytes, expected] : {std::pair{128 << 10, 1}, {(128 << 10) + 1, 8}}) {
                Memory data(static_cast<std::size_t>(bytes));
                EXPECT_EQ(transfer(one, Direction::read, 0, data).bytes, 8192);
                EXPECT_EQ(static_cast<int>(data[4]), expected) << bytes << " bytes";
            }
        });
    }
}

TEST(Clients, WithTheStoreOfCachedReadsAWriteThatTheServerRefusesFails) {
    for (const auto kind : {ClientKind::nfs, ClientKind::fuse}) {
        Nodes nodes(kind);
        nodes.run(open_cached_reads, [&](Store& one, Store&) {
            nodes.fault = {.nth = 1, .system_errno = ENOSPC, .writes = true, .reads = false};
            EXPECT_EQ(write(one, 0, 7).error.kind, ErrorKind::no_space);
        });
    }
}

/// A program that reads without this library, on a node that cached a page before another node
/// wrote there, sees the bytes once the node's handle is synced or closed. GlusterFS keeps such
/// pages even if the file is opened again.
TEST(Clients, OtherProgramsOfANodeSeeTheBytesAfterSyncAndClose) {
    Nodes nodes(ClientKind::fuse);
    nodes.run(open_uncached, [&](Store& one, Store& two) {
        const auto plain = nodes.opened(open_posix, false);
        ASSERT_TRUE(plain.ok());
        EXPECT_EQ(read(**plain, 100), 1);
        write(two, 100, 7);
        EXPECT_TRUE(one.sync().ok());
        EXPECT_EQ(read(**plain, 100), 7);
        write(two, 100, 8);
        EXPECT_TRUE(one.close().ok());
        EXPECT_EQ(read(**plain, 100), 8);
    });
}

TEST(Clients, AReadThatFailsBehindTheSizeAClientKnowsIsNoEndOfTheFile) {
    Nodes nodes(ClientKind::fuse);
    nodes.run(open_uncached, [&](Store& one, Store& two) {
        write(two, 9000, 9);
        nodes.fault = {.nth = 1, .system_errno = EIO};
        Memory data(4);
        const Transferred done = transfer(one, Direction::read, 9000, data);
        EXPECT_EQ(done.error.kind, ErrorKind::io);
        nodes.fault = {.nth = 1, .system_errno = EINTR};
        EXPECT_EQ(read(one, 9000), 9);
    });
}

TEST(Clients, FailedWriteBackOfAnotherClientIsNotTheEndOfTheFile) {
    Nodes nodes(ClientKind::fuse);
    nodes.run(open_uncached, [&](Store& one, Store& two) {
        auto other = nodes.opened(open_posix, false);
        ASSERT_TRUE(other.ok());
        write(**other, 0, 7);
        write(two, 9000, 9);
        nodes.fault = {.nth = 1, .system_errno = EDQUOT, .writes = true, .reads = false};
        EXPECT_EQ(read(one, 9000), 9);
    });
}

/// A descriptor of the simulated file, closed at the end of the scope.
class Descriptor {
  public:
    Descriptor() : number_(::open(System::path.data(), O_RDWR | O_DIRECT)) {}
    ~Descriptor() { ::close(number_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    /// Returns the result of pread of up to 4 bytes.
    [[nodiscard]] ssize_t read(Offset at) const {
        char bytes[4];
        return ::pread(number_, bytes, sizeof bytes, at);
    }
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] Bytes size() const {
        struct stat status {};
        return ::fstat(number_, &status) == 0 ? Bytes{status.st_size} : -1;
    }

  private:
    int number_;
};

TEST(Clients, Ocfs2ClientsSeeOnlyLocksOfTheirOwnNode) {
    Nodes nodes(ClientKind::ocfs2);
    nodes.run(open_posix, [&](Store& one, Store& two) {
        auto beside = nodes.opened(open_posix, false);
        ASSERT_TRUE(beside.ok());
        EXPECT_TRUE(one.lock({0, 8}, true, true).ok());
        EXPECT_TRUE(*(*beside)->is_locked_elsewhere({4, 5}));
        EXPECT_FALSE(*two.is_locked_elsewhere({4, 5}));
        EXPECT_TRUE(two.lock({0, 8}, true, true).ok());
        write(two, 4, 8);
        EXPECT_EQ(read(one, 4), 8);
        EXPECT_EQ(*one.size(), 8192);
        write(two, 9000, 9);
        EXPECT_EQ(*one.size(), 9004);
        EXPECT_EQ(read(one, 9000), 9);
    });
}

TEST(Clients, CephClientsReturnInvalidResultsPastTheirCachedSize) {
    Nodes nodes(ClientKind::ceph);
    nodes.run(open_posix, [&](Store&, Store& two) {
        nodes.move_to(false);
        const Descriptor file;
        EXPECT_EQ(file.read(8192), 0);
        write(two, 20000, 9);
        errno = 0;
        EXPECT_EQ(file.read(8192 + 24), -1);
        EXPECT_EQ(errno, 24);
        errno = 0;
        EXPECT_EQ(file.read(8192 + 5000), -5000);
        EXPECT_EQ(errno, 0);
        EXPECT_EQ(file.size(), 20004);
        EXPECT_EQ(file.read(20000), 4);
    });
}

TEST(Clients, SmbClientsCannotAccessLockedBytes) {
    Nodes nodes(ClientKind::smb);
    nodes.run(open_uncached, [&](Store& one, Store& two) {
        EXPECT_TRUE(one.lock({0, 8}, true, true).ok());
        EXPECT_EQ(write(one, 4, 7).bytes, 4);
        EXPECT_EQ(read(one, 4), 7);
        nodes.move_to(true);
        const Descriptor file;
        EXPECT_EQ(file.read(4), -1);
        EXPECT_EQ(errno, EACCES);
        EXPECT_EQ(write(two, 8, 7).bytes, 4);
    });
}

TEST(Clients, SmbClientsCannotWriteUnderTheirOwnSharedLock) {
    Nodes nodes(ClientKind::smb);
    nodes.run(open_uncached, [&](Store&, Store& two) {
        const Descriptor file;
        struct flock region {};
        region.l_type = F_RDLCK;
        region.l_len = 8;
        EXPECT_EQ(::fcntl(file.number(), F_OFD_SETLKW, &region), 0);
        EXPECT_EQ(::pwrite(file.number(), "abcd", 4, 4), -1);
        EXPECT_EQ(errno, EACCES);
        EXPECT_EQ(read(two, 4), 1);
    });
}

TEST(Clients, SmbAndMooseFsClientsKeepASizeThatOthersShrink) {
    for (const auto kind : {ClientKind::smb, ClientKind::moose}) {
        Nodes nodes(kind);
        nodes.run(open_uncached, [&](Store& one, Store& two) {
            EXPECT_TRUE(one.resize(5000, false).ok());
            EXPECT_EQ(*one.size(), 5000);
            nodes.move_to(true);
            const Descriptor file;
            EXPECT_EQ(file.size(), 8192);
            EXPECT_EQ(*two.size(), 5000) << "the store asks the server for bytes";
            EXPECT_TRUE(two.resize(5000, false).ok());
            EXPECT_EQ(file.size(), 5000);
        });
    }
}

}  // namespace
}  // namespace oratorio::oracle
