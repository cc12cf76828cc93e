// SPDX-License-Identifier: BSD-3-Clause
// AgentServer: an agent, as threads of one rank's process. They never call MPI, so they serve while
// the rank's program computes, at any level of thread support.
//
// One thread at a time leads: it waits for what comes, from all ranks. Once a request is whole it
// lets the next one lead, does the request on its own store and replies itself.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "agent/connection.hpp"
#include "agent/service.hpp"
#include "base/door.hpp"

namespace oratorio {

class AgentServer {
  public:
    struct Wish {
        std::vector<std::unique_ptr<Store>> stores;  ///< one for each thread
        Binding binding;
        int agent = 0;           ///< of those of the binding
        Bytes shipment_max = 0;  ///< of a description and its data
        Rank clients = 1;
        SharedBuffers shared = {};  ///< of the ranks beside; somebody else's, there until the end
        /// Who keeps a buffer that others wait for is sent away after that.
        std::chrono::milliseconds patience{60'000};
    };
    /// An error: no memory, no sockets or not all threads. The stores are gone then.
    static Result<std::unique_ptr<AgentServer>> start(Wish wish);
    /// As close().
    ~AgentServer();

    [[nodiscard]] const ServicePlace& place() const { return place_; }
    /// Ends the threads and all connections, and closes the stores; the first error of these.
    Result<void> close();

  private:
    struct Work {
        std::shared_ptr<AgentConnection> connection;
        AgentConnection::Request request;
    };

    AgentServer(Wish wish, Door door, Descriptor end, Descriptor changed);
    [[nodiscard]] Result<void> start_threads();
    void run(std::size_t thread);
    [[nodiscard]] std::optional<Work> lead();
    [[nodiscard]] std::optional<Work> look(std::span<const pollfd> watched);
    [[nodiscard]] AgentConnection::Receipt serve(Work& work, int ready);
    void perform(std::size_t thread, Work& work);

    Wish wish_;
    ServicePlace place_;
    AgentBuffers buffers_;
    Descriptor end_;      ///< an eventfd: the threads are to end
    Descriptor changed_;  ///< another: there is something new to wait for
    std::mutex leading_;
    // Who leads has:
    Door door_;
    std::vector<std::shared_ptr<AgentConnection>> connections_;
    std::size_t next_ = 0;  ///< where the look round begins, so that nobody is always last
    std::vector<std::thread> threads_;
};

}  // namespace oratorio
