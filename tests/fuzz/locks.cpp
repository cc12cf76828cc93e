// SPDX-License-Identifier: BSD-3-Clause
// The protocol of the job's locks, from both sides. See lie() in stranger.hpp for the input.
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "net/lock_client.hpp"
#include "stranger.hpp"

namespace oratorio::test {
namespace {

constexpr LockKey kFile{1, 2};

/// Checks that a lock can be acquired and released, on a file that no input names.
void expect_served(LockClient& honest) {
    const auto lock = honest.acquire({0x0123456789abcdef, 0xfedcba9876543210}, {0, 10}, true);
    claim(lock.ok(), "a process is served");
    claim(honest.release(*lock).ok(), "and may give its lock back");
}

/// Sends the input to the server. Bad bytes must not keep a process from its locks, and the locks
/// of their sender must end with its connection.
void lie_to_server(std::span<const std::byte> input, bool admitted) {
    static const auto server = std::move(*LockServer::start());
    static LockClient honest(server->address());
    expect_served(honest);
    say_to_server(server->address(), input, admitted);
    expect_served(honest);
    const auto lock = honest.acquire(kFile, {0, INT64_MAX}, true);
    claim(lock.ok() && honest.release(*lock).ok(), "no client that left holds a lock");
}

void lie_to_client(std::span<const std::byte> input, bool with_answer) {
    std::vector<std::byte> words(input.begin(), input.end());
    if (with_answer) words = after_answer(input);
    const Liar liar(words);
    LockClient client(at_loopback(liar.port()), nullptr, {.connect = kSoon});
    const auto lock = client.acquire(kFile, {0, 10}, true);
    if (!lock) return;
    const std::span said(words);
    claim(said.size() >= 16, "a client accepts only complete replies");
    claim(from_word(said.first(8)) == at_loopback(0).answer,
          "a client accepts only servers with the right answer");
    bool granted = false;
    for (std::size_t at = 8; at + 8 <= said.size(); at += 8)
        granted = granted || from_word(said.subspan(at, 8)) == *lock;
    claim(granted, "the lock is one that a reply has granted");
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio::test;
    return lie({data, size}, lie_to_server, lie_to_client);
}
