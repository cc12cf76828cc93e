// SPDX-License-Identifier: BSD-3-Clause
#include "file/agents.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "comm/shared_segment.hpp"
#include "data_shipping/inline_agents.hpp"
#include "file/opening.hpp"
#include "plan/aggregators.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

constexpr Bytes kBlockLeast = 256 << 10;

/// Returns the ranks that become agents: the aggregators of a large access, or as many ranks as the
/// hint oratorio_agents asks for.
std::vector<Rank> choose_agents(const Nodes& nodes, const PlanOptions& given) {
    PlanOptions options = given;
    if (options.agent_count > 0) options.cb_nodes = options.agent_count;
    return choose_aggregators(
        nodes, [](Rank) { return true; }, options, INT64_MAX);
}

AgentFacts facts_of(const Hints& hints, const Nodes& nodes, Bytes file_system_block) {
    const PlanOptions& options = hints.plan;
    AgentFacts facts;
    facts.ranks = choose_agents(nodes, options);
    facts.threads = options.agent_threads;
    facts.message = message_bytes_of(options);
    const Bytes own = options.striping_unit > 0 ? options.striping_unit
                                                : std::max(file_system_block, kBlockLeast);
    facts.block = options.ship_block > 0 ? options.ship_block : own;
    return facts;
}

/// Collective. Returns the addresses of all agents, in the order of their numbers. `mine` is the
/// address of this rank's agent, which has the number `index`; null if this rank isn't an agent.
Result<std::vector<ServiceAddress>> tell_places(Transport& transport, std::size_t agents,
                                                const ServiceAddress* mine, std::size_t index) {
    using Words = std::array<std::uint64_t, sizeof(ServiceAddress) / sizeof(std::uint64_t)>;
    std::vector<std::uint64_t> all(agents * Words{}.size());
    const auto of = [&all](std::size_t agent) {
        return std::span(all).subspan(agent * Words{}.size()).first<Words{}.size()>();
    };
    if (mine != nullptr) std::ranges::copy(std::bit_cast<Words>(*mine), of(index).begin());
    if (auto told = reduce(transport, all, ReduceOp::sum); !told) return told.error();
    std::vector<ServiceAddress> places;
    for (std::size_t agent = 0; agent < agents; ++agent) {
        Words words;
        std::ranges::copy(of(agent), words.begin());
        places.push_back(std::bit_cast<ServiceAddress>(words));
    }
    return places;
}

/// Returns the bytes of node memory that a rank needs for its concurrent requests.
Bytes request_memory(const AgentFacts& facts) {
    return std::clamp<Bytes>(std::ssize(facts.ranks), 2, 4) * facts.message;
}

bool has_agent(const Topology& topology, const AgentFacts& facts) {
    return std::ranges::any_of(
        facts.ranks, [&](Rank agent) { return are_beside(topology, agent, topology.rank); });
}

}  // namespace

/// Collective. Maps memory for requests on each node with an agent, shared by the ranks of the
/// node. The other nodes' ranks send their requests as messages, and so do all ranks if the memory
/// can't be mapped.
Result<void> FileAgents::share_memory() {
    const Topology& topology = transport_.topology();
    const Bytes each = request_memory(*facts_);
    const std::int64_t ranks = ranks_beside(topology, topology.rank);
    SharedSegment::Options options;
    if (has_agent(topology, *facts_)) options.bytes = SharedBuffers::bytes_needed(ranks, each);
    SharedSegment segment(std::move(options));
    if (auto finished = segment.finish(transport_); !finished) return finished;
    if (segment.refused()) {
        messages_.warn("requests to agents are sent as messages: " +
                       describe(segment.refusal(), "", Subject::other));
    } else {
        memory_ = segment.take();
    }
    return {};
}

/// Starts the agent of this rank, with one store for each of the agent's threads.
Error FileAgents::start_server(const OpenCall& call, const Hints& hints, int agent) {
    AgentServer::Options options;
    options.file.binding = {facts_->block, static_cast<int>(facts_->ranks.size())};
    options.file.agent = agent;
    options.file.clients = transport_.topology().size;
    options.file.shared = SharedBuffers(memory_.span());
    options.shipment_max = facts_->message;
    options.hosts = call.agent_hosts;
    for (int i = 0; i < facts_->threads; ++i) {
        auto another = open_again(call, file_.location.path, hints);
        if (!another) return another.error();
        options.file.stores.push_back(std::move(*another));
    }
    auto started = AgentServer::start(std::move(options));
    if (!started) return started.error();
    server_ = std::move(*started);
    return {};
}

/// Collective. Starts the agents and connects to them. If one rank fails, all ranks return an
/// error.
Result<void> FileAgents::reach(const OpenCall& call, const Hints& hints) {
    const Rank rank = transport_.topology().rank;
    const auto found = std::ranges::find(facts_->ranks, rank);
    const auto index = static_cast<std::size_t>(found - facts_->ranks.begin());
    if (auto shared = share_memory(); !shared) return shared;
    Error error;
    if (found != facts_->ranks.end()) error = start_server(call, hints, static_cast<int>(index));
    if (auto started = agree_on_error(transport_, error); !started) return started.error();
    const auto places = tell_places(transport_, facts_->ranks.size(),
                                    server_ != nullptr ? &server_->address() : nullptr, index);
    if (!places) return places.error();
    auto connected = RemoteAgents::connect(*places, facts_->block, facts_->message);
    if (connected) {
        use_shared_memory(**connected);
        agents_ = std::move(*connected);
    }
    return agree_on_error(transport_, connected ? Error{} : connected.error());
}

void FileAgents::use_shared_memory(RemoteAgents& reached) const {
    if (memory_.span().empty()) return;
    const Topology& topology = transport_.topology();
    std::int64_t before = 0;
    for (Rank rank = 0; rank < topology.rank; ++rank)
        before += are_beside(topology, rank, topology.rank) ? 1 : 0;
    std::vector<bool> beside;
    for (const Rank agent : facts_->ranks)
        beside.push_back(are_beside(topology, agent, topology.rank));
    const SharedBuffers buffers(memory_.span());
    reached.share(buffers, buffers.area(before, request_memory(*facts_)), std::move(beside));
}

Result<void> FileAgents::start(const OpenCall& call, const Agreed<Hints>& hints, Store& store,
                               bool denied) {
    if (!asks_for_agents(hints->plan)) return {};
    const Bytes block = store.limits().block_bytes;
    const auto agreed_block = agree_on_root(transport_, block);
    if (!agreed_block) return agreed_block.error();
    facts_ = agreed_from([](const Hints& given, const Nodes& nodes,
                            Bytes of_root) { return facts_of(given, nodes, of_root); },
                         hints, nodes_of(transport_), *agreed_block);
    if (call.inline_agents) {
        agents_ = std::make_unique<InlineAgents>(
            store, Binding{facts_->block, static_cast<int>(facts_->ranks.size())}, facts_->message);
        return {};
    }
    const auto reached =
        denied ? Result<void>(Error::make(
                     ErrorKind::unsupported_operation,
                     "this file system's locks are mandatory and would block the agents"))
               : reach(call, *hints);
    if (reached) return {};
    agents_.reset();
    server_.reset();
    memory_ = {};
    facts_ = agreed_from([] {
        AgentFacts facts;
        facts.refused = true;
        return facts;
    });
    messages_.warn("hint oratorio_method: using another method, because there are no agents: " +
                   describe(reached.error(), file_.path, Subject::other));
    return {};
}

Result<void> FileAgents::end() {
    if (agents_ == nullptr) return {};
    // All ranks meet first, because other ranks may still wait for this rank's agent.
    if (auto met = agree_on_error(transport_, {}); !met) return met;
    agents_.reset();
    return server_ != nullptr ? server_->close() : Result<void>();
}

}  // namespace oratorio
