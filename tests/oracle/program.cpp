// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/program.hpp"

#include <algorithm>

namespace oratorio::oracle {

Bytes Tiles::size() const {
    Bytes sum = 0;
    for (const Piece& piece : pieces) sum += piece.length;
    return sum;
}

std::vector<Piece> Tiles::range(Bytes from, Bytes bytes) const {
    std::vector<Piece> found;
    const Bytes all = size();
    if (all == 0) return found;
    Offset origin = displacement + from / all * extent;
    Bytes skip = from % all;
    while (bytes > 0) {
        for (const Piece& piece : pieces) {
            if (bytes == 0) break;
            if (skip >= piece.length) {
                skip -= piece.length;
                continue;
            }
            const Bytes length = std::min(bytes, piece.length - skip);
            const Offset at = origin + piece.at + skip;
            if (!found.empty() && found.back().at + found.back().length == at) {
                found.back().length += length;
            } else {
                found.push_back({at, length});
            }
            bytes -= length;
            skip = 0;
        }
        origin += extent;
    }
    return found;
}

int Program::accesses() const {
    int count = 0;
    for (const Step& step : steps) {
        if (step.kind == Kind::access || step.kind == Kind::start)
            count += static_cast<int>(step.parts.size());
    }
    return count;
}

const char* name_of(Kind kind) {
    constexpr const char* kNames[] = {"open",    "close",   "set_view", "access",   "start",
                                      "finish",  "sync",    "size",     "get_size", "atomic",
                                      "barrier", "message", "poll"};
    return kNames[static_cast<int>(kind)];
}

namespace {

std::string text(Bytes number) {
    return std::to_string(number);
}

std::string describe(const Tiles& view) {
    std::string line = "from " + text(view.displacement) + " every " + text(view.extent) + ":";
    for (const Piece& piece : view.pieces) line += " " + text(piece.at) + "+" + text(piece.length);
    return line;
}

/// Returns the name of the step's MPI routine, without the prefix MPI_File_.
std::string call_name(const Step& step) {
    std::string name = step.direction == Direction::read ? "read" : "write";
    const bool shared = step.at == Positioning::shared;
    if (step.kind == Kind::start && !step.split) name = "i" + name;
    if (shared) name += step.collective ? "_ordered" : "_shared";
    if (step.at == Positioning::explicit_offset) name += "_at";
    if (step.collective && !shared) name += "_all";
    return step.split ? name + "_begin" : name;
}

bool all_alike(const Step& step) {
    return std::ranges::all_of(step.parts, [&](const Part& part) {
        return part.from == step.parts[0].from && part.bytes == step.parts[0].bytes;
    });
}

std::string describe_access(const Step& step) {
    std::string line = "h" + text(step.handle) + " " + call_name(step);
    const auto amount = [&](const Part& part) {
        const bool shared = step.at == Positioning::shared;
        return (shared ? "" : text(part.from) + "+") + text(part.bytes);
    };
    if (!step.collective)
        return "rank " + text(step.parts[0].rank) + ": " + line + " " + amount(step.parts[0]);
    line = "all: " + line;
    if (all_alike(step)) return line + " " + amount(step.parts[0]);
    for (const Part& part : step.parts) line += " r" + text(part.rank) + ":" + amount(part);
    return line;
}

std::string describe_setting(const Program& program) {
    const Setting& setting = program.setting;
    constexpr const char* kBeside[] = {"nothing beside", "a helper thread", "a full helper thread"};
    constexpr const char* kPace[] = {"even", "uneven", "bursts"};
    std::string line = text(program.ranks) + " ranks, ";
    line += setting.ranks_per_node == 0 ? "one node" : text(setting.ranks_per_node) + " per node";
    line += setting.node_memory ? ", node transport, " : ", messages only, ";
    if (setting.node_memory && setting.node_lists && setting.ranks_per_node > 0)
        line += "lists of nodes, ";
    line += kBeside[static_cast<int>(setting.beside)];
    line += std::string(", pace ") + kPace[static_cast<int>(setting.pace)];
    line += ", file of " + text(setting.prefill) + " bytes";
    if (setting.client != ClientKind::none)
        line += ", clients of " + std::string(facts_of(setting.client).name);
    if (setting.asynchronous) line += ", asynchronous store";
    if (setting.trouble_percent > 0) line += ", short transfers and interruptions";
    const Scarcity& memory = setting.memory;
    if (memory.first > 0)
        line +=
            ", allocation " + text(memory.first) + (memory.for_good ? " and all later ones" : "") +
            (memory.maps ? ", large ones too," : "") + " of rank " + text(memory.rank) + " fails";
    if (memory.empty_step >= 0)
        line += ", no reserve in #" + text(memory.empty_step) + " of rank " + text(memory.rank);
    if (!memory.threads) line += ", no threads";
    if (memory.helperless >= 0) line += ", no helper of rank " + text(memory.helperless);
    if (setting.failing_lock > 0)
        line += ", no lock of the job for rank " + text(setting.fault_rank) + " from its " +
                text(setting.failing_lock) + "th on";
    if (setting.dying >= 0)
        line += ", rank " + text(setting.dying) + " dies with its " + text(setting.last_lock) +
                "th lock of the job";
    if (setting.fault_rank >= 0 && setting.failing_lock == 0)
        line += ", request " + text(setting.fault.nth) + " of rank " + text(setting.fault_rank) +
                " fails with errno " + text(setting.fault.system_errno);
    return line + "\n";
}

}  // namespace

std::string describe(const Program&, const Step& step) {
    const std::string handle = "h" + text(step.handle) + " ";
    switch (step.kind) {
        case Kind::access:
        case Kind::start:
            return describe_access(step) +
                   (step.kind == Kind::start ? "  (#" + text(step.id) + ")" : "");
        case Kind::finish: {
            const std::string who =
                step.collective ? "all: " : "rank " + text(step.parts[0].rank) + ": ";
            return who + handle + (step.split ? "end of #" : "wait for #") + text(step.refers);
        }
        case Kind::view: {
            std::string line = "all: " + handle + "set_view";
            for (const Part& part : step.parts)
                line += "\n      r" + text(part.rank) + " " + describe(part.view);
            return line;
        }
        case Kind::size:
            return "all: " + handle + "set_size " + text(step.size);
        case Kind::atomic:
            return "all: " + handle + "set_atomicity " + (step.on ? "true" : "false");
        case Kind::barrier:
            return "all: barrier";
        case Kind::message:
            return "rank " + text(step.from) + ": message to rank " + text(step.to);
        case Kind::poll:
            return "rank " + text(step.parts[0].rank) + ": test";
        default:
            return "all: " + handle + name_of(step.kind);
    }
}

std::string describe(const Program& program) {
    std::string lines = describe_setting(program);
    for (std::size_t h = 0; h < program.handles.size(); ++h) {
        const Handle& handle = program.handles[h];
        lines += "h" + std::to_string(h) + " of ranks";
        for (const Rank rank : handle.members) lines += " " + text(rank);
        if (handle.log) lines += ", shared pointer only";
        for (const auto& [key, value] : handle.hints) lines += ", " + key + "=" + value;
        lines += "\n";
    }
    for (const Step& step : program.steps) lines += "  " + describe(program, step) + "\n";
    return lines;
}

}  // namespace oratorio::oracle
