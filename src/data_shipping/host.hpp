// SPDX-License-Identifier: BSD-3-Clause
// AgentHost: the threads, the job listener and the buffers of a process's agents, shared by all
// open files with equal options, so that their cost doesn't grow with the number of files (data
// shipping). The threads never call MPI, so they serve while the rank's program computes, at any
// level of thread support.
//
// One thread at a time leads: it waits for requests from all ranks. Once a whole request has
// arrived, it lets the next thread lead, performs the request on a store of its own and sends the
// reply. The thread that then leads sends what the rank doesn't take at once.
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

#include "data_shipping/connection.hpp"
#include "data_shipping/service.hpp"
#include "data_shipping/shared_buffers.hpp"
#include "net/job_listener.hpp"

namespace oratorio {

/// An open file, as this process's agent serves it.
struct ServedFile {
    std::vector<std::unique_ptr<Store>> stores;  ///< one for each thread of the host
    Binding binding;
    int agent = 0;  ///< this agent's index in the binding
    Rank clients = 1;
    /// Memory shared with the ranks of this node; owned elsewhere, and outlives this object.
    SharedBuffers shared = {};
};

class AgentHost {
  public:
    struct Options {
        std::size_t threads = 1;
        Bytes shipment_max = 0;  ///< size limit of a description and its data
        /// A rank that keeps a buffer that others wait for is disconnected after this time. Time in
        /// which the job is suspended doesn't count.
        std::chrono::milliseconds patience{60'000};
        auto operator<=>(const Options&) const = default;
    };
    /// Starts a host. Fails if memory, sockets or threads aren't available.
    static Result<std::shared_ptr<AgentHost>> start(const Options& options);
    /// Ends the threads and all connections. REQUIRES: all files are removed.
    ~AgentHost();
    AgentHost(const AgentHost&) = delete;
    AgentHost& operator=(const AgentHost&) = delete;

    /// Starts to serve the file at the returned address. The file must stay valid until it is
    /// removed.
    ServiceAddress add(ServedFile& file);
    /// Stops serving the file; returns when no thread works for it any more.
    void remove(const ServiceAddress& address);

  private:
    struct Served {
        ServedFile* file = nullptr;
        int working = 0;  ///< threads that perform one of its requests
    };
    struct Work {
        std::shared_ptr<AgentConnection> connection;
        AgentConnection::Request request;
        Served* served = nullptr;
    };

    AgentHost(const Options& options, JobListener listener, Descriptor end, Descriptor changed);
    [[nodiscard]] Result<void> start_threads();
    void run(std::size_t thread);
    [[nodiscard]] std::optional<Work> lead();
    void renew_patience(bool wanted);
    void end_connections();
    [[nodiscard]] std::optional<Work> look(std::span<const pollfd> watched);
    [[nodiscard]] AgentConnection::Receipt serve(Work& work, int ready);
    [[nodiscard]] bool begin(Work& work);
    [[nodiscard]] std::size_t connections_max();
    void perform(std::size_t thread, Work& work);

    Options options_;
    ServiceAddress address_;
    AgentBuffers buffers_;
    Descriptor end_;      ///< an eventfd, raised when the threads must end
    Descriptor changed_;  ///< an eventfd, raised when there is something new to wait for
    std::mutex serving_;  ///< guards served_ and next_service_
    std::map<std::uint64_t, Served> served_;  ///< key: service number
    std::uint64_t next_service_ = 0;
    std::condition_variable worked_;  ///< notified when a thread has finished a request
    std::mutex leading_;
    // Used by the thread that leads, under leading_:
    JobListener listener_;
    std::vector<std::shared_ptr<AgentConnection>> connections_;
    std::size_t next_ = 0;  ///< first connection of the next look(), so that none is always last
    Socket::Clock::time_point checked_ = Socket::Clock::now();  ///< when poll(2) last returned
    std::vector<std::thread> threads_;
};

/// The hosts of a process: one host for all files with equal options. Thread-safe.
class AgentHosts {
  public:
    [[nodiscard]] Result<std::shared_ptr<AgentHost>> get(const AgentHost::Options& options);

  private:
    std::mutex mutex_;  ///< guards hosts_
    std::map<AgentHost::Options, std::weak_ptr<AgentHost>> hosts_;
};

}  // namespace oratorio
