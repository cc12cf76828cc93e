// SPDX-License-Identifier: BSD-3-Clause
// AgentServer: the agent that a rank is for one open file. What works for it is its process's
// (agent/host).
#pragma once

#include <memory>

#include "agent/host.hpp"

namespace oratorio {

class AgentServer {
  public:
    struct Wish {
        ServedFile file;  ///< its stores are closed at the end
        Bytes shipment_max = 0;
        std::chrono::milliseconds patience{60'000};
        AgentHosts* hosts = nullptr;  ///< of the process; null: the file has a host of its own
    };
    /// An error: as of AgentHost::start. The stores are gone then.
    static Result<std::unique_ptr<AgentServer>> start(Wish wish);
    /// As close().
    ~AgentServer() { (void)close(); }
    AgentServer(const AgentServer&) = delete;
    AgentServer& operator=(const AgentServer&) = delete;

    [[nodiscard]] const ServicePlace& place() const { return place_; }
    /// Ends the service and closes the stores; the first error of these.
    Result<void> close();

  private:
    AgentServer(std::shared_ptr<AgentHost> host, ServedFile file);

    ServedFile file_;
    std::shared_ptr<AgentHost> host_;  ///< null once it is closed
    ServicePlace place_;
};

}  // namespace oratorio
