// SPDX-License-Identifier: BSD-3-Clause
#include "memory/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

namespace oratorio::test::shared_memory_test {
namespace {

/// A shared memory object that has a name of the library's, but was made by another program. It
/// lacks the bytes by which ranks recognise their own objects.
class Foreign {
  public:
    Foreign(std::string name, Bytes bytes) : name_(std::move(name)) {
        const int file = ::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        EXPECT_EQ(::ftruncate(file, bytes), 0);
        ::close(file);
    }
    ~Foreign() { ::shm_unlink(name_.c_str()); }
    Foreign(const Foreign&) = delete;
    Foreign& operator=(const Foreign&) = delete;

  private:
    std::string name_;
};

/// Returns the length of the shared memory object with this name.
Bytes length_of(const std::string& name) {
    const int file = ::shm_open(name.c_str(), O_RDONLY, 0);
    const Bytes bytes = ::lseek(file, 0, SEEK_END);
    ::close(file);
    return bytes;
}

TEST(SharedMemory, all_bytes_of_one_mapping_are_visible_in_the_other) {
    auto made = SharedMemory::create(10'000);
    ASSERT_TRUE(made.ok());
    auto attached = SharedMemory::attach(made->name(), 10'000);
    ASSERT_TRUE(attached.ok());
    made->unlink();
    ASSERT_EQ(attached->span().size(), 10'000U);
    EXPECT_EQ(attached->span().back(), std::byte{0});
    made->span().back() = std::byte{7};
    EXPECT_EQ(attached->span().back(), std::byte{7});
}

TEST(SharedMemory, names_fit_a_message_and_cannot_be_guessed_from_another) {
    auto one = SharedMemory::create(1), two = SharedMemory::create(1);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_LT(one->name().size(), 48U);
    const auto random_part = [](const std::string& name) { return name.substr(name.rfind('-')); };
    EXPECT_NE(random_part(one->name()), random_part(two->name()));
}

TEST(SharedMemory, another_object_of_that_name_is_refused_before_it_is_touched) {
    std::string name;
    Bytes whole = 0;
    {
        auto made = SharedMemory::create(10'000);
        ASSERT_TRUE(made.ok());
        name = made->name();
        whole = length_of(name);
    }
    ASSERT_GT(whole, 10'000);
    for (const Bytes bytes : {Bytes{0}, Bytes{10'000}, whole - 1, whole, whole + 1}) {
        const Foreign foreign(name, bytes);
        const auto attached = SharedMemory::attach(name, 10'000);
        ASSERT_FALSE(attached.ok()) << bytes;
        EXPECT_EQ(attached.error().kind, ErrorKind::io) << bytes;
    }
    const auto none = SharedMemory::attach(name, 10'000);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().system_errno, ENOENT);
}

int mappings() {
    std::ifstream all("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(all, line);)
        found += line.find("/oratorio-") != std::string::npos ? 1 : 0;
    return found;
}

/// Ranks of a node without agents have such memory.
/// SIGXFSZ would end the test.
TEST(SharedMemory, memory_past_the_limit_of_a_files_size_is_an_error_without_a_signal) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit most{.rlim_cur = 4096, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &most), 0);
    const auto memory = SharedMemory::create(1 << 20);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().system_errno, EFBIG);
}

TEST(SharedMemory, memory_of_no_bytes_is_unmapped_too) {
    const int before = mappings();
    {
        auto made = SharedMemory::create(0);
        ASSERT_TRUE(made.ok());
        const auto attached = SharedMemory::attach(made->name(), 0);
        ASSERT_TRUE(attached.ok());
        const SharedMemory moved = std::move(*made);
        EXPECT_EQ(mappings(), before + 2);
    }
    EXPECT_EQ(mappings(), before);
}

TEST(SharedMemory, a_rank_that_means_another_length_is_refused) {
    auto made = SharedMemory::create(10'000);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(SharedMemory::attach(made->name(), 9'999).ok());
    EXPECT_FALSE(SharedMemory::attach(made->name(), 10'001).ok());
}

}  // namespace
}  // namespace oratorio::test::shared_memory_test
