// SPDX-License-Identifier: BSD-3-Clause
// AgentHost: the threads, the door and the buffers of all agents of a process, whichever open files
// they serve: what they cost doesn't grow with the number of files. They never call MPI, so they
// serve while the rank's program computes, at any level of thread support.
//
// One thread at a time leads: it waits for what comes, from all ranks. Once a request is whole it
// lets the next one lead, does the request on a store of its own and replies itself.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "agent/connection.hpp"
#include "agent/service.hpp"
#include "agent/shared_buffers.hpp"
#include "base/door.hpp"

namespace oratorio {

/// An open file, as the agent of this process serves it.
struct ServedFile {
    std::vector<std::unique_ptr<Store>> stores;  ///< one for each thread of the host
    Binding binding;
    int agent = 0;  ///< of those of the binding
    Rank clients = 1;
    SharedBuffers shared = {};  ///< of the ranks beside; somebody else's, there until the end
};

class AgentHost {
  public:
    struct Wish {
        std::size_t threads = 1;
        Bytes shipment_max = 0;  ///< of a description and its data
        /// A rank that keeps a buffer which others wait for is sent away after that.
        std::chrono::milliseconds patience{60'000};
        auto operator<=>(const Wish&) const = default;
    };
    /// An error: no memory, no sockets or not all threads.
    static Result<std::shared_ptr<AgentHost>> start(const Wish& wish);
    /// Ends the threads and all connections. Serves no file any more.
    ~AgentHost();
    AgentHost(const AgentHost&) = delete;
    AgentHost& operator=(const AgentHost&) = delete;

    /// Serves the file, which stays there until it is removed, at the place that this returns.
    ServicePlace add(ServedFile& file);
    /// Returns when no thread works for the file any more.
    void remove(const ServicePlace& place);

  private:
    struct Served {
        ServedFile* file = nullptr;
        int working = 0;  ///< threads that have a request of it
    };
    struct Work {
        std::shared_ptr<AgentConnection> connection;
        AgentConnection::Request request;
        Served* served = nullptr;
    };

    AgentHost(const Wish& wish, Door door, Descriptor end, Descriptor changed);
    [[nodiscard]] Result<void> start_threads();
    void run(std::size_t thread);
    [[nodiscard]] std::optional<Work> lead();
    [[nodiscard]] std::optional<Work> look(std::span<const pollfd> watched);
    [[nodiscard]] AgentConnection::Receipt serve(Work& work, int ready);
    [[nodiscard]] bool begin(Work& work);
    [[nodiscard]] std::size_t connections_max();
    void perform(std::size_t thread, Work& work);

    Wish wish_;
    ServicePlace place_;
    AgentBuffers buffers_;
    Descriptor end_;                          ///< an eventfd: the threads are to end
    Descriptor changed_;                      ///< another: there is something new to wait for
    std::mutex serving_;                      ///< guards served_ and next_service_
    std::map<std::uint64_t, Served> served_;  ///< by the number of the service
    std::uint64_t next_service_ = 0;
    std::condition_variable worked_;  ///< a thread has ended its work for a file
    std::mutex leading_;
    // The thread that leads has:
    Door door_;
    std::vector<std::shared_ptr<AgentConnection>> connections_;
    std::size_t next_ = 0;  ///< where the look round begins, so that nobody is always last
    std::vector<std::thread> threads_;
};

/// The hosts of a process: one for all files whose hints want the same of it. Thread-safe.
class AgentHosts {
  public:
    [[nodiscard]] Result<std::shared_ptr<AgentHost>> get(const AgentHost::Wish& wish);

  private:
    std::mutex mutex_;  ///< guards hosts_
    std::map<AgentHost::Wish, std::weak_ptr<AgentHost>> hosts_;
};

}  // namespace oratorio
