// SPDX-License-Identifier: BSD-3-Clause
// The simulated clients, and the library's store for them over them: one rank, on two nodes in
// turn.
#include <gtest/gtest.h>

#include <cerrno>

#include "oracle/system_calls.hpp"
#include "store/transfer.hpp"

namespace oratorio::oracle {
namespace {

using Memory = std::vector<std::byte>;
using Opened = Result<std::unique_ptr<Store>>;

/// Two nodes and a file of 8192 bytes, all 1. The clients do nothing by themselves.
class Nodes {
  public:
    explicit Nodes(ClientKind kind)
        : fibers_(stacks_, 2, Pace::even, 0),
          one_(fibers_, server_, kind),
          two_(fibers_, server_, kind),
          system_(
              kind,
              [this] {
                  return std::make_unique<SimulatedStore>(fibers_, storage_, 0, fault,
                                                          test::MemoryStoreOptions{});
              },
              [this]() -> Client& { return second_ ? two_ : one_; }) {
        storage_.disk.write(0, Memory(8192, std::byte{1}));
        one_.keep_still();
        two_.keep_still();
    }
    /// `body` is given a store of either node.
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

TEST(Clients, OfNfsSendWhatWasWrittenAndReadAnewWhereThereIsALock) {
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

TEST(Clients, WhatAnotherOneFailsToWriteBackIsNoEndOfTheFile) {
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

}  // namespace
}  // namespace oratorio::oracle
