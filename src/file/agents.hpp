// SPDX-License-Identifier: BSD-3-Clause
// FileAgents: the agents of an open file (data shipping). If hints ask for a method with data
// shipping, all ranks together start the agents at open and end them at close. Private to src/file.
#pragma once

#include <memory>

#include "comm/agreed.hpp"
#include "data_shipping/remote_agents.hpp"
#include "data_shipping/server.hpp"
#include "file/opened_file.hpp"
#include "file/user_messages.hpp"
#include "memory/shared_memory.hpp"

namespace oratorio {

class FileAgents {
  public:
    /// All arguments outlive the agents.
    FileAgents(Transport& transport, const OpenedFile& file, UserMessages& messages)
        : transport_(transport), file_(file), messages_(messages) {}

    /// Collective, at open. Starts the agents that hints ask for, if any. `denied`: the file
    /// system's locks would deny the agents' accesses, so no agent starts. If the agents can't be
    /// started, the user gets a warning, and accesses use other methods. `store` outlives the
    /// agents.
    Result<void> start(const OpenCall& call, const Agreed<Hints>& hints, Store& store, bool denied);
    /// Collective. Ends the agents. Returns an error of this rank's agent or of the transport.
    /// REQUIRES: no access is under way.
    Result<void> end();

    /// Returns the connection to the agents; null if there are none.
    [[nodiscard]] Agents* get() const { return agents_.get(); }
    [[nodiscard]] const Agreed<AgentFacts>& facts() const { return facts_; }
    /// Returns true if an agent on another node may have written data of this rank.
    [[nodiscard]] bool ship_elsewhere() const {
        return agents_ != nullptr && !transport_.topology().one_node();
    }

  private:
    Result<void> reach(const OpenCall& call, const Hints& hints);
    Result<void> share_memory();
    [[nodiscard]] Error start_server(const OpenCall& call, const Hints& hints, int agent);
    void use_shared_memory(RemoteAgents& reached) const;

    Transport& transport_;
    const OpenedFile& file_;
    UserMessages& messages_;
    Agreed<AgentFacts> facts_ = agreed_from([] { return AgentFacts{}; });
    /// Memory of this node for requests to agents; empty if requests are sent as messages.
    SharedMemory memory_;
    std::unique_ptr<AgentServer> server_;  ///< set on a rank that is an agent
    std::unique_ptr<Agents> agents_;       ///< null: no agents
};

}  // namespace oratorio
