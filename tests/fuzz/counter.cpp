// SPDX-License-Identifier: BSD-3-Clause
// The counter's protocol, from both sides. The first byte says who lies: a client to the server,
// from outside or with the token, or whoever has the server's address to a client.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "base/served_counter.hpp"
#include "fuzz.hpp"
#include "stranger.hpp"

namespace oratorio::test {
namespace {

using namespace std::chrono_literals;
using Clock = Socket::Clock;

/// Nobody who lies keeps a rank from the number, or moves it without the token.
void lie_to_server(std::span<const std::byte> input, bool admitted) {
    static const auto server = std::move(*CounterServer::start(1000));
    static CounterClient honest(server->place());
    const auto before = honest.fetch_add(1);
    claim(before.ok(), "a rank is served");
    say_to_server(server->place(), input, admitted);
    const auto after = honest.fetch_add(1);
    claim(after.ok(), "a rank is still served");
    const bool same = static_cast<std::uint64_t>(*after) == static_cast<std::uint64_t>(*before) + 1;
    claim(admitted || same, "the number is the ranks'");
}

/// Says the same to everybody who comes, until it is ended.
class Liar {
  public:
    explicit Liar(std::vector<std::byte> words)
        : words_(std::move(words)),
          listener_(std::move(*Socket::listen())),
          thread_([this] { run(); }) {}
    ~Liar() {
        ended_ = true;
        const auto woken = Socket::connect(at_loopback(0).addresses[0], *listener_.port());
        thread_.join();
    }
    [[nodiscard]] std::uint16_t port() const { return *listener_.port(); }

  private:
    void run() {
        for (;;) {
            pollfd watched{listener_.number(), POLLIN, 0};
            ::poll(&watched, 1, -1);
            const auto client = listener_.accept();
            if (ended_) return;
            if (!client) continue;
            static_cast<void>(client->send(words_, Clock::now() + kSoon));
            hang_up(*client);
        }
    }

    std::vector<std::byte> words_;
    Socket listener_;
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

void lie_to_client(std::span<const std::byte> input, bool with_answer) {
    std::vector<std::byte> words;
    if (with_answer) std::ranges::copy(to_word(at_loopback(0).answer), std::back_inserter(words));
    words.insert(words.end(), input.begin(), input.end());
    const Liar liar(words);
    CounterClient client(at_loopback(liar.port()), {.connect = 20s, .reply = 20s});
    const auto got = client.fetch_add(1);
    if (!got) return;
    const std::span said(words);
    claim(said.size() >= 16, "a number is what somebody said");
    claim(from_word(said.first(8)) == at_loopback(0).answer, "only who knows the answer is heard");
    claim(static_cast<std::uint64_t>(*got) == from_word(said.subspan(8, 8)),
          "the number is the one that was said");
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio::test;
    std::span input(data, size);
    const unsigned who = take_byte(input) % 4;
    const auto bytes = std::as_bytes(input);
    if (who < 2) {
        lie_to_server(bytes, who == 1);
    } else {
        lie_to_client(bytes, who == 3);
    }
    return 0;
}
