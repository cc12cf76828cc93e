// SPDX-License-Identifier: BSD-3-Clause
// The servers of shared counters and of locks when no memory is left for their threads: a server
// ends, its clients get errors, and the process continues. The program replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "counter_support.hpp"
#include "net/lock_client.hpp"

namespace {

/// True while only the test's own thread may allocate memory.
std::atomic<bool> refuses{false};
thread_local bool is_test = false;

}  // namespace

void* operator new(std::size_t bytes) {
    void* const memory = refuses && !is_test ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace oratorio::test {
namespace {

constexpr LockKey kFile{3, 4};

class ServerMemory : public testing::Test {
  protected:
    void SetUp() override { is_test = true; }
    void TearDown() override { refuses = false; }
};

TEST_F(ServerMemory, a_counter_without_memory_fails_for_its_clients_only) {
    Host host;
    CounterClient known = client_of(host.place());
    ASSERT_TRUE(known.fetch_add(1).ok());
    refuses = true;
    CounterClient late = client_of(host.place(), {.connect = 2s, .reply = 2s});
    EXPECT_FALSE(late.fetch_add(1).ok());
    EXPECT_FALSE(known.fetch_add(1).ok());
    EXPECT_TRUE(host.counter.fetch_add(1).ok()) << "this process needs no server";
}

TEST_F(ServerMemory, locks_without_memory_fail_for_their_clients_only) {
    auto server = LockServer::start();
    ASSERT_TRUE(server.ok());
    LockClient client((*server)->address());
    const auto held = client.acquire(kFile, {0, 10}, true);
    ASSERT_TRUE(held.ok());
    refuses = true;
    EXPECT_FALSE(client.acquire(kFile, {20, 30}, true).ok());
}

}  // namespace
}  // namespace oratorio::test
