// SPDX-License-Identifier: BSD-3-Clause
// Buffers on a system with pages of 64 KiB, as many 64-bit ARM systems have. The linker redirects
// sysconf to this file.
#include "memory/buffer_pool.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

constexpr long kSystemPage = 64L << 10;

extern "C" long __real_sysconf(int name);
extern "C" long __wrap_sysconf(int name) {
    return name == _SC_PAGESIZE ? kSystemPage : __real_sysconf(name);
}

namespace oratorio {
namespace {

TEST(BufferPool, a_buffer_is_of_whole_pages_of_the_system) {
    for (const Bytes bytes : {Bytes{1}, Bytes{4096}, Bytes{kSystemPage}, Bytes{kSystemPage} + 1}) {
        BufferPool pool;
        const auto lease = pool.take(bytes);
        EXPECT_EQ(lease.span().size(), static_cast<std::size_t>(bytes));
        EXPECT_EQ(pool.held(), (bytes + kSystemPage - 1) / kSystemPage * kSystemPage);
    }
}

TEST(BufferPool, an_overrun_hits_the_guard_page) {
    BufferPool pool;
    const auto lease = pool.take(1);
    std::byte* const data = lease.span().data();
    data[kSystemPage - 1] = std::byte{1};
    EXPECT_DEATH(data[kSystemPage] = std::byte{1}, "");
    EXPECT_DEATH(data[2 * kSystemPage - 1] = std::byte{1}, "");
}

}  // namespace
}  // namespace oratorio
