// SPDX-License-Identifier: BSD-3-Clause
// The inputs of a plan other than the accesses: hints, facts about ranks and file system, and what
// the ranks have found out about shared memory. As Agreed values they may steer collective choices.
#pragma once

#include <string>

#include "base/extent.hpp"
#include "comm/shared_list.hpp"
#include "plan/costs.hpp"

namespace oratorio {

class LearnedTimes;
struct Method;

enum class Toggle { automatic, enable, disable };

/// The file domains that a hint selects: the method's own (automatic), or those of that name.
enum class DomainsChoice { automatic, even, block, cyclic, stripes, count };

/// How an access should be done, according to the hints.
struct PlanOptions {
    const Method* method = nullptr;   ///< null = the cheapest method, hint oratorio_method
    Bytes cb_buffer_size = 16 << 20;  ///< bytes of collective buffer per aggregator, or per slot
    bool buffer_per_slot = false;  ///< each slot has cb_buffer_size, hint oratorio_buffer_per_slot
    int cb_nodes = 0;              ///< number of aggregators; 0 = plan/aggregators decides
    std::string cb_config_list = "";  ///< "*:2", "hostA:1,hostB:3"; "" = plan/aggregators decides
    SharedList<Rank> aggregators;  ///< hint oratorio_aggregators; empty = plan/aggregators decides
    Toggle cb_read = Toggle::automatic;
    Toggle cb_write = Toggle::automatic;
    Toggle ds_read = Toggle::automatic;
    Toggle ds_write = Toggle::automatic;
    Bytes ind_rd_buffer_size = 4 << 20;
    Bytes ind_wr_buffer_size = 512 << 10;
    Bytes striping_unit = 0;  ///< 0 = unknown; file domains are cut at its multiples
    Bytes cyclic_block = 0;   ///< block of cyclic(n) domains; 0 = 1 MiB, hint oratorio_cyclic_block
    DomainsChoice domains = DomainsChoice::automatic;  ///< hint oratorio_domains
    int striping_factor = 0;  ///< number of storage targets of the file; 0 = unknown
    int slots = 0;  ///< sub-buffers per aggregator; 0 = the method's own, hint oratorio_slots
    Bytes message_bytes = 256 << 10;  ///< largest message, hint oratorio_message_bytes
    int messages_in_flight = 4;       ///< per rank and direction, hint oratorio_messages_in_flight
    int local_aggregators =
        0;  ///< number on all nodes; 0 = plan/layers decides, hint oratorio_local_aggregators
    int local_aggregators_per_node = 0;  ///< hint oratorio_local_aggregators_per_node
    bool atomic = false;                 ///< atomic mode: each access locks its hull
    Bytes sub_buffer = 0;      ///< bytes of a slot; 0 = the method's own, hint oratorio_sub_buffer
    int group = 4;             ///< ranks at the storage at once, hint oratorio_group
    int group_pieces = 0;      ///< pieces of a rank outstanding at once; 0 = the method's own
    int max_acc = 1;           ///< ranges accessed at once, hint oratorio_max_acc
    bool direct_read = false;  ///< bypass the page cache
    bool direct_write = false;
    int agent_count = 0;    ///< ranks with agents; 0 = number of aggregators, hint
                            ///< oratorio_agents
    int agent_threads = 2;  ///< threads of each agent, hint oratorio_agent_threads
    Bytes ship_block = 0;  ///< block of an agent; 0 = file/agents decides, hint oratorio_ship_block
    bool sparse = false;   ///< only ranks with data exchange messages, hint IBM_sparse_access

    /// Returns the bytes of an aggregator's collective buffer with this number of slots.
    [[nodiscard]] Bytes collective_buffer(int of_slots) const {
        return buffer_per_slot ? cb_buffer_size * of_slots : cb_buffer_size;
    }
};

/// The agents of data shipping: ranks that make all storage calls for the file blocks bound to
/// them.
struct AgentFacts {
    SharedList<Rank> ranks;  ///< of n agents, agent i has the blocks i, i + n, ...; empty: none
    int threads = 0;         ///< threads of each agent
    Bytes block = 0;
    Bytes message = 0;     ///< maximum bytes of a request
    bool refused = false;  ///< agents were requested, but could not be started
};

/// Facts about the machines where the ranks run, and about the file system.
struct PlanFacts {
    bool mappable = false;     ///< every rank's store can map the file
    bool coherent = false;     ///< all ranks are on one node, so their mappings see each other
    bool alone = true;         ///< no other rank has the file open
    int ranks_of_machine = 1;  ///< ranks with the file open on the machine that has most of them
    double cores_of_machine = 1;
    long file_system = 0;            ///< f_type, see statfs(2)
    bool local_file_system = false;  ///< the file system is local to the node
    bool asynchronous = false;       ///< storage calls progress while the caller does other things
    AgentFacts agents;
    /// Times of earlier collective accesses; null: the cost model alone chooses. The table changes
    /// after each access, in the same way on all ranks.
    const LearnedTimes* learned = nullptr;
    Costs costs;
};

/// The options and facts that accesses are planned with. Rebuilt when the hints or the atomic mode
/// change.
struct PlanConfig {
    PlanOptions options;
    PlanFacts facts;
};

/// What the ranks know about sharing memory. An access may find out more.
struct NodeSharing {
    bool shared_memory = true;  ///< ranks of a node can map the same memory
    bool shared_ready = false;  ///< ranks of a node have mapped the same memory before
    bool cross_memory = true;   ///< ranks of a node can access each other's memory
};

}  // namespace oratorio
