// SPDX-License-Identifier: BSD-3-Clause
// Lazy open: the store that opens its file when it is first used.
#include "store/lazy_open.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "store/transfer.hpp"
#include "support/memory_store.hpp"

namespace oratorio::test::lazy_open_test {
namespace {

using test::MemoryDisk;
using test::MemoryStore;
using test::MemoryStoreOptions;

class LazyOpen : public testing::Test {
  protected:
    LazyOpen() {
        options_.asynchronous = true;
        late_ = open_lazily([this]() -> Result<std::unique_ptr<Store>> {
            ++tries_;
            if (refusal_.kind != ErrorKind::none) return refusal_;
            return std::unique_ptr<Store>(std::make_unique<MemoryStore>(disk_, options_));
        });
    }
    [[nodiscard]] Transferred write(std::size_t length) {
        std::vector<std::byte> bytes(length, std::byte{7});
        return transfer(*late_, Direction::write, 0, bytes);
    }

    MemoryDisk disk_;
    MemoryStoreOptions options_;
    Error refusal_;
    int tries_ = 0;
    std::unique_ptr<Store> late_;
};

TEST_F(LazyOpen, empty_calls_do_not_open_the_file) {
    EXPECT_FALSE(late_->is_open());
    EXPECT_TRUE(late_->sync().ok());
    EXPECT_TRUE(late_->lock({0, 10}, false, true).ok());
    late_->register_buffers({});
    EXPECT_TRUE(late_->close().ok());
    EXPECT_EQ(tries_, 0);
}

TEST_F(LazyOpen, opens_once_and_has_the_limits_of_the_file) {
    EXPECT_FALSE(late_->limits().asynchronous);
    EXPECT_TRUE(late_->prepare().ok());
    EXPECT_TRUE(late_->prepare().ok());
    EXPECT_TRUE(late_->is_open());
    EXPECT_TRUE(late_->limits().asynchronous);
    EXPECT_EQ(late_->limits().queue_depth, options_.queue_depth);
    EXPECT_EQ(write(100).bytes, 100);
    EXPECT_EQ(*late_->size(), 100);
    EXPECT_EQ(tries_, 1);
}

TEST_F(LazyOpen, all_but_requests_opens_the_file_that_it_needs) {
    EXPECT_EQ(*late_->size(), 0);
    EXPECT_EQ(tries_, 1);
    EXPECT_EQ(write(100).bytes, 100);
    EXPECT_EQ(disk_.size(), 100);
}

TEST_F(LazyOpen, a_lock_is_that_of_the_opened_store) {
    EXPECT_TRUE(late_->lock({0, 10}, true, true).ok());
    MemoryStore other(disk_);
    EXPECT_TRUE(*other.is_locked_elsewhere({5, 6}));
    EXPECT_TRUE(late_->lock({0, 10}, false, true).ok());
    EXPECT_FALSE(*other.is_locked_elsewhere({5, 6}));
}

TEST_F(LazyOpen, each_call_retries_and_requests_fail_like_the_last_attempt) {
    EXPECT_EQ(write(100).error.system_errno, EBADF);
    refusal_ = Error::make(ErrorKind::access, "test", EACCES);
    EXPECT_EQ(late_->prepare().error().kind, ErrorKind::access);
    EXPECT_EQ(late_->size().error().kind, ErrorKind::access);
    EXPECT_EQ(late_->lock({0, 1}, true, true).error().kind, ErrorKind::access);
    EXPECT_EQ(late_->map({0, 1}, Direction::read, Populate::no).error().kind, ErrorKind::access);
    EXPECT_EQ(tries_, 4);
    for (int time = 0; time < 3; ++time) {
        const Transferred done = write(100);
        EXPECT_EQ(done.error.kind, ErrorKind::access);
        EXPECT_EQ(done.bytes, 0);
    }
    EXPECT_EQ(tries_, 4);
    refusal_ = {};
    EXPECT_TRUE(late_->prepare().ok());
    EXPECT_EQ(write(100).bytes, 100);
}

TEST_F(LazyOpen, a_name_that_leads_to_another_file_is_no_such_file_to_requests_too) {
    refusal_ = Error::make(ErrorKind::no_such_file, "test", ESTALE);
    EXPECT_EQ(late_->prepare().error().kind, ErrorKind::no_such_file);
    EXPECT_EQ(write(100).error.kind, ErrorKind::no_such_file);
}

// The store must not report a refused request that has not been reaped yet to another user of the
// store.
TEST_F(LazyOpen, two_that_share_it_are_each_refused_once) {
    std::byte byte{7};
    const std::array<iovec, 2> not_at_once{{{&byte, 1}, {nullptr, 0}}};
    Transfer first(*late_);
    first.start(Direction::write, 0, not_at_once, 1);
    EXPECT_EQ(transfer(*late_, Direction::write, 1, std::span(&byte, 1)).error.system_errno, EBADF);
    Transferred done;
    EXPECT_TRUE(first.poll(done, true));
    EXPECT_EQ(done.token, 1U);
    EXPECT_EQ(done.error.system_errno, EBADF);
}

/// A store that counts the waits for its jobs.
class CountingStore final : public MemoryStore {
  public:
    CountingStore(MemoryDisk& disk, int& waits) : MemoryStore(disk), waits_(waits) {}
    void finish_jobs() override { ++waits_; }

  private:
    int& waits_;
};

// Before a rank takes one of the job's locks, it calls finish_jobs(): queued jobs may need that
// lock.
TEST(LazyOpenJobs, are_waited_for_once_the_file_is_open) {
    MemoryDisk disk;
    int waits = 0;
    const auto late = open_lazily([&]() -> Result<std::unique_ptr<Store>> {
        return std::unique_ptr<Store>(std::make_unique<CountingStore>(disk, waits));
    });
    late->finish_jobs();
    EXPECT_EQ(waits, 0);
    EXPECT_TRUE(late->prepare().ok());
    late->finish_jobs();
    EXPECT_EQ(waits, 1);
}

TEST_F(LazyOpen, an_error_without_an_errno_is_an_input_output_error_to_requests) {
    refusal_ = Error::make(ErrorKind::internal, "test");
    EXPECT_EQ(late_->prepare().error().kind, ErrorKind::internal);
    EXPECT_EQ(write(100).error.kind, ErrorKind::io);
}

}  // namespace
}  // namespace oratorio::test::lazy_open_test
