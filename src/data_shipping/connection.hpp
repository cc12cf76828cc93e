// SPDX-License-Identifier: BSD-3-Clause
// A rank's connection to an agent, on the agent's side: receives requests piecemeal, and sends
// replies as fast as the rank takes them.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "data_shipping/buffers.hpp"
#include "data_shipping/message.hpp"
#include "net/socket.hpp"

namespace oratorio {

class AgentConnection {
  public:
    /// A whole request; owns its buffer. A request in memory that the rank shares arrives as its
    /// head alone.
    struct Request {
        RequestHead head;
        std::span<const std::byte> description;
        std::span<std::byte> data;
        std::span<std::byte> buffer;  ///< empty for a request in shared memory
    };
    enum class Receipt { waits, whole, over };

    AgentConnection(Socket socket, AgentBuffers& buffers)
        : socket_(std::move(socket)), buffers_(buffers) {}
    /// Gives all buffers back to `buffers`.
    ~AgentConnection();
    AgentConnection(const AgentConnection&) = delete;
    AgentConnection& operator=(const AgentConnection&) = delete;

    [[nodiscard]] int number() const { return socket_.number(); }

    // For the leading thread (data_shipping/host):

    /// Returns the events for poll(2).
    [[nodiscard]] short events();
    /// Receives what has arrived. If it returns `whole`, the request is in `request`.
    [[nodiscard]] Receipt receive(Request& request);
    /// Sends as much of the replies as the rank takes now. Returns false if the connection has
    /// ended.
    [[nodiscard]] bool send_replies();
    /// Returns true if the connection holds a buffer or unsent replies, and has moved no data after
    /// the time `since`.
    [[nodiscard]] bool is_stuck(Socket::Clock::time_point since);
    /// Sets the time at which data last moved, for is_stuck(), to `now`.
    void restart_patience(Socket::Clock::time_point now) { moved_ = now; }

    // For any thread:

    /// Queues a reply and sends what the rank takes now; takes over the request's buffer. Returns
    /// true if some replies remain for the leading thread to send.
    [[nodiscard]] bool reply(const Request& request, const ReplyHead& head);

  private:
    struct Reply {
        ReplyHead head;
        std::span<std::byte> buffer;  ///< empty if no data follows
        std::span<const std::byte> data;
        std::size_t sent = 0;
        [[nodiscard]] std::span<const std::byte> left() const;
    };
    [[nodiscard]] bool accept_head() const;
    [[nodiscard]] bool send_all();

    Socket socket_;
    AgentBuffers& buffers_;
    // Used by the leading thread:
    RequestHead head_;
    std::size_t filled_ = 0;  ///< bytes of the request received, its head included
    std::span<std::byte> buffer_;
    bool waits_for_buffer_ = false;
    Socket::Clock::time_point moved_ = Socket::Clock::now();
    // Guarded by sending_:
    std::mutex sending_;
    std::deque<Reply> replies_;
    bool over_ = false;
};

}  // namespace oratorio
