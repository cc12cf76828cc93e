// SPDX-License-Identifier: BSD-3-Clause
// The counter's protocol, from both sides. See lie() in stranger.hpp for the input.
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "net/served_counter.hpp"
#include "stranger.hpp"

namespace oratorio::test {
namespace {

using namespace std::chrono_literals;

/// Sends the input to the server. Bad bytes must not keep a rank from the number, and must not
/// change the number without the token.
void lie_to_server(std::span<const std::byte> input, bool admitted) {
    static const std::shared_ptr<CounterServer> server = std::move(*CounterServer::start());
    static const std::uint64_t id = server->add();
    static CounterClient honest(std::make_shared<CounterConnection>(server->address()), id, 1);
    const auto before = honest.fetch_add(1);
    claim(before.ok(), "a rank is served");
    say_to_server(server->address(), input, admitted);
    const auto after = honest.fetch_add(1);
    claim(after.ok(), "a rank is still served");
    const bool same = static_cast<std::uint64_t>(*after) == static_cast<std::uint64_t>(*before) + 1;
    claim(admitted || same, "only clients with the token change the number");
}

void lie_to_client(std::span<const std::byte> input, bool with_answer) {
    std::vector<std::byte> words(input.begin(), input.end());
    if (with_answer) words = after_answer(input);
    const Liar liar(words);
    const CounterLimits limits{.connect = 20s, .reply = 20s};
    CounterClient client(std::make_shared<CounterConnection>(at_loopback(liar.port()), limits), 1,
                         1);
    const auto got = client.fetch_add(1);
    if (!got) return;
    const std::span said(words);
    claim(said.size() >= 24, "a client accepts only complete replies");
    claim(from_word(said.first(8)) == at_loopback(0).answer,
          "a client accepts only servers with the right answer");
    claim(from_word(said.subspan(8, 8)) == kServed, "a number comes only with the status kServed");
    claim(static_cast<std::uint64_t>(*got) == from_word(said.subspan(16, 8)),
          "the number is the one in the reply");
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio::test;
    return lie({data, size}, lie_to_server, lie_to_client);
}
