// SPDX-License-Identifier: BSD-3-Clause
// Memory that was registered with a store in advance, and requests whose memory lies inside it,
// outside it, or across its ends.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "store/transfer.hpp"
#include "support/resource_limit.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::announced_test {
namespace {

constexpr Bytes kPages = 16;

/// A block of pages, each filled with a value of its own.
class Pages {
  public:
    explicit Pages(int first) : memory_(std::aligned_alloc(kPage, kPages * kPage)) {
        for (Bytes at = 0; at < kPages * kPage; ++at)
            data()[at] = static_cast<std::byte>(first + at / kPage);
    }
    ~Pages() { std::free(memory_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] std::span<std::byte> of(Bytes first, Bytes count) const {
        return {data() + first * kPage, static_cast<std::size_t>(count * kPage)};
    }

  private:
    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }
    void* memory_;
};

/// Returns the number of buffers that the kernel has registered for this process's rings.
int registered_buffers() {
    int sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
        std::ifstream in(entry.path());
        for (std::string word; in >> word;) {
            int buffers = 0;
            if (word == "UserBufs:" && in >> buffers) sum += buffers;
        }
    }
    return sum;
}

class Announced : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = open_uring(folder_.file("data"),
                                 {.read = true,
                                  .write = true,
                                  .create = true,
                                  .direct_read = true,
                                  .direct_write = true},
                                 4);
        if (!opened) GTEST_SKIP() << "io_uring is not available";
        store_ = std::move(*opened);
        if (store_->limits().direct_write.file == 0) GTEST_SKIP() << "no direct I/O here";
    }
    void move(Direction direction, Offset page, std::span<std::byte> memory) {
        const Transferred done = transfer(*store_, direction, page * kPage, memory);
        EXPECT_EQ(done.bytes, std::ssize(memory));
        EXPECT_EQ(done.error.kind, ErrorKind::none);
    }

    test::TemporaryFolder folder_;
    std::unique_ptr<Store> store_;
};

TEST_F(Announced, the_kernel_holds_what_was_announced_last_until_nothing_is) {
    const Pages one(0), other(0);
    EXPECT_EQ(registered_buffers(), 0);
    store_->register_buffers(one.of(0, 4));
    EXPECT_EQ(registered_buffers(), 1);
    store_->register_buffers(other.of(0, 8));
    EXPECT_EQ(registered_buffers(), 1);
    store_->register_buffers({});
    EXPECT_EQ(registered_buffers(), 0);
    store_->register_buffers(one.of(0, 4));
    EXPECT_TRUE(store_->close());
    EXPECT_EQ(registered_buffers(), 0);
}

TEST_F(Announced, requests_from_anywhere_move_their_bytes) {
    const Pages from(1), into(100);
    // The requests lie before the registered pages, across their start, inside, and across their
    // end.
    const std::array<Bytes, 4> firsts{0, 3, 6, 10};
    store_->register_buffers(from.of(4, 8));
    for (const Bytes first : firsts) move(Direction::write, first, from.of(first, 3));
    store_->register_buffers(into.of(4, 8));
    for (const Bytes first : firsts) {
        move(Direction::read, first, into.of(first, 3));
        const auto sent = from.of(first, 3);
        EXPECT_TRUE(std::equal(sent.begin(), sent.end(), into.of(first, 3).begin())) << first;
    }
    EXPECT_EQ(into.of(13, 1).front(), std::byte{113}) << "nobody read into that page";
}

TEST_F(Announced, refused_registration_changes_nothing) {
    // The kernel cannot register this memory, because it may not be accessed.
    void* const none = ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(none, MAP_FAILED);
    store_->register_buffers({static_cast<std::byte*>(none), kPage});
    EXPECT_EQ(registered_buffers(), 0);
    const Pages from(1);
    move(Direction::write, 0, from.of(0, 4));
    const std::span<std::byte> bad(static_cast<std::byte*>(none), kPage);
    EXPECT_NE(transfer(*store_, Direction::write, 0, bad).error.kind, ErrorKind::none);
    ::munmap(none, kPage);
}

TEST_F(Announced, a_failing_request_from_announced_memory_tells_how_far_it_got) {
    const Pages from(1), into(100);
    move(Direction::write, 0, from.of(0, 2));
    store_->register_buffers(into.of(0, kPages));
    const Transferred past_end = transfer(*store_, Direction::read, 0, into.of(0, 4));
    EXPECT_EQ(past_end.bytes, 2 * kPage);
    EXPECT_EQ(past_end.error.kind, ErrorKind::none);

    std::optional<test::ResourceLimit> small(std::in_place, RLIMIT_FSIZE, 3 * kPage);
    const Transferred full = transfer(*store_, Direction::write, 4 * kPage, into.of(4, 1));
    small.reset();
    EXPECT_EQ(full.bytes, 0);
    EXPECT_NE(full.error.kind, ErrorKind::none);
    EXPECT_EQ(full.error.offset, 4 * kPage);
}

TEST_F(Announced, memory_that_took_the_place_of_announced_memory_has_its_own_bytes) {
    auto first = std::make_unique<Pages>(1);
    store_->register_buffers(first->of(0, kPages));
    move(Direction::write, 0, first->of(0, kPages));
    store_->register_buffers({});
    first.reset();
    const Pages second(50);  // probably at the address of `first`
    move(Direction::write, 0, second.of(0, kPages));
    const Pages back(0);
    move(Direction::read, 0, back.of(0, kPages));
    EXPECT_EQ(back.of(5, 1).front(), std::byte{55});
}

}  // namespace
}  // namespace oratorio::test::announced_test
