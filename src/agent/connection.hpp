// SPDX-License-Identifier: BSD-3-Clause
// One rank's connection to an agent, as the agent has it: requests that come in bit by bit, replies
// that go out as the rank takes them.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "agent/buffers.hpp"
#include "agent/message.hpp"
#include "base/socket.hpp"

namespace oratorio {

class AgentConnection {
  public:
    /// A request that is whole; its buffer goes with it. One that lies in memory which the rank
    /// shares comes as its head alone.
    struct Request {
        RequestHead head;
        std::span<const std::byte> description;
        std::span<std::byte> data;
        std::span<std::byte> buffer;  ///< empty when the rank shares both
    };
    enum class Receipt { waits, whole, over };

    AgentConnection(Socket socket, AgentBuffers& buffers)
        : socket_(std::move(socket)), buffers_(buffers) {}
    /// Gives back all buffers.
    ~AgentConnection();
    AgentConnection(const AgentConnection&) = delete;
    AgentConnection& operator=(const AgentConnection&) = delete;

    [[nodiscard]] int number() const { return socket_.number(); }

    // By the thread that leads (agent/server).

    /// What to look for there: events of poll(2).
    [[nodiscard]] short events();
    /// Takes what has come; with `whole` the request is in `request`.
    [[nodiscard]] Receipt receive(Request& request);
    /// Sends what the rank takes now. False when the connection is over.
    [[nodiscard]] bool send_replies();
    /// It has kept a buffer for so long, and nothing has moved.
    [[nodiscard]] bool is_stuck(Socket::Clock::time_point since);

    // By any thread.

    /// True when not all of it is sent yet: whoever leads goes on. Takes the request's buffer.
    [[nodiscard]] bool reply(const Request& request, const ReplyHead& head);

  private:
    struct Reply {
        ReplyHead head;
        std::span<std::byte> buffer;  ///< empty when no data follows
        std::span<const std::byte> data;
        std::size_t sent = 0;
        [[nodiscard]] std::span<const std::byte> left() const;
    };
    [[nodiscard]] bool accept_head() const;
    [[nodiscard]] bool send_all();

    Socket socket_;
    AgentBuffers& buffers_;
    // The leader's:
    RequestHead head_;
    std::size_t filled_ = 0;  ///< bytes of the request, its head included
    std::span<std::byte> buffer_;
    bool waits_for_buffer_ = false;
    Socket::Clock::time_point moved_ = Socket::Clock::now();
    // All threads':
    std::mutex sending_;
    std::deque<Reply> replies_;
    bool over_ = false;
};

}  // namespace oratorio
