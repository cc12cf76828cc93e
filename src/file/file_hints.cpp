// SPDX-License-Identifier: BSD-3-Clause
#include "file/file_hints.hpp"

#include "base/amounts.hpp"
#include "memory/machine_memory.hpp"

namespace oratorio {

namespace {

PlanConfig config_of(const Hints& given, const FileFindings& found, const Nodes& nodes,
                     const AgentFacts& agents, const LearnedTimes* learned) {
    PlanConfig made;
    made.facts.learned = learned;
    made.options = given.plan;
    if (found.striping.unit > 0) made.options.striping_unit = found.striping.unit;
    if (found.striping.targets > 0)
        made.options.striping_factor = static_cast<int>(found.striping.targets);
    // With lazy open, collective buffering is preferred, so that ranks that aren't aggregators
    // needn't open the file.
    if (given.no_independent_access) {
        if (given.plan.cb_read == Toggle::automatic) made.options.cb_read = Toggle::enable;
        if (given.plan.cb_write == Toggle::automatic) made.options.cb_write = Toggle::enable;
    }
    made.facts.coherent = nodes.one_node();
    made.facts.alone = nodes.size == 1;
    made.facts.ranks_of_machine = nodes.ranks_of_node_most() * nodes.nodes_of_machine;
    made.facts.cores_of_machine = nodes.cores;
    made.facts.file_system = found.file_system;
    made.facts.local_file_system = is_local(found.file_system);
    made.facts.mappable = found.mappable;
    made.facts.asynchronous =
        found.store == StoreChoice::uring || found.store == StoreChoice::thread;
    made.facts.costs = nodes.nodes_of_machine > 1 ? on_one_machine(found.costs) : found.costs;
    made.facts.agents = agents;
    // If some rank can't read its store, no method may fill holes: data sieving and collective
    // buffering of writes are off.
    if (!found.holes_readable) {
        made.options.cb_write = made.options.ds_write = Toggle::disable;
        made.options.method = nullptr;
    }
    return made;
}

}  // namespace

Result<std::string> FileHints::take(Transport& ranks, const HintMap& mine,
                                    const HintOrigins& origins, const OpenedFile& file,
                                    UserMessages& messages, const std::string& learned) {
    const Topology& topology = ranks.topology();
    const auto beside = ranks_beside(topology, topology.rank);
    const auto agreed =
        agree_on_hints(ranks, {mine, buffer_bytes_most(static_cast<int>(beside)), learned});
    if (!agreed) return agreed.error();
    if (const auto differing = (**agreed).differing; differing > 0) {
        messages.warn("hints: " + counted(differing, "rank") +
                      " passed hints that differ from rank 0's; using rank 0's");
    }
    const auto parsed = agreed_from(
        [](const AgreedHints& told, const Hints& start, const Nodes& nodes) {
            return parse_hints(told.of_root.map, start, told.of_root.buffer_most, nodes.size);
        },
        *agreed, hints_, nodes_of(ranks));
    hints_ = agreed_from([](const ParsedHints& all) { return all.hints; }, parsed);
    config_.reset();
    for (const HintWarning& warning : parsed->warnings)
        messages.warn(explain_warning(warning, origins));
    if (messages.explains() && !mine.empty())
        messages.say(file.path + ": hints\n" + explain_hints(mine, origins, *hints_), "hints");
    return (**agreed).of_root.learned;
}

void FileHints::set_atomic(const Agreed<std::uint64_t>& atomic) {
    const auto set = [](const Hints& before, const std::uint64_t& asked) {
        Hints hints = before;
        hints.plan.atomic = asked != 0;
        return hints;
    };
    hints_ = agreed_from(set, hints_, atomic);
    config_.reset();
}

std::shared_ptr<const Agreed<PlanConfig>> FileHints::config(
    const Agreed<FileFindings>& found, const Transport& ranks, const Agreed<AgentFacts>& agents,
    const Agreed<const LearnedTimes*>& learned) {
    if (config_ == nullptr) {
        const auto make = [](const Hints& given, const FileFindings& all, const Nodes& nodes,
                             const AgentFacts& shipped_to, const LearnedTimes* times) {
            return config_of(given, all, nodes, shipped_to, times);
        };
        config_ = std::make_shared<const Agreed<PlanConfig>>(
            agreed_from(make, hints_, found, nodes_of(ranks), agents, learned));
    }
    return config_;
}

}  // namespace oratorio
