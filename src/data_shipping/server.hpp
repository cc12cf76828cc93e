// SPDX-License-Identifier: BSD-3-Clause
// AgentServer: the agent for one open file on this rank. The threads of an AgentHost do its work
// (data_shipping/host).
#pragma once

#include <memory>

#include "data_shipping/host.hpp"

namespace oratorio {

class AgentServer {
  public:
    struct Options {
        ServedFile file;  ///< the file to serve; close() closes its stores
        Bytes shipment_max = 0;
        std::chrono::milliseconds patience{60'000};
        AgentHosts* hosts = nullptr;  ///< the process's hosts; null: a host for this file alone
    };
    /// Starts the service. Fails if AgentHost::start fails. Takes ownership of the stores in
    /// `options.file`, and destroys them if it fails.
    static Result<std::unique_ptr<AgentServer>> start(Options options);
    /// Closes the server, and ignores errors.
    ~AgentServer() { (void)close(); }
    AgentServer(const AgentServer&) = delete;
    AgentServer& operator=(const AgentServer&) = delete;

    [[nodiscard]] const ServiceAddress& address() const { return address_; }
    /// Ends the service and closes the stores; returns the first error of closing.
    Result<void> close();

  private:
    AgentServer(std::shared_ptr<AgentHost> host, ServedFile file);

    ServedFile file_;
    std::shared_ptr<AgentHost> host_;  ///< null once closed
    ServiceAddress address_;
};

}  // namespace oratorio
