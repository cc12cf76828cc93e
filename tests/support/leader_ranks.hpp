// SPDX-License-Identifier: BSD-3-Clause
// LeaderRanks: collectives among the first ranks of all nodes (the leaders), by messages of the
// transport of all ranks. Each leader sends its data to all other leaders.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/shared_segment.hpp"
#include "comm/transport.hpp"
#include "support/pretended_nodes.hpp"

namespace oratorio::test {

class LeaderRanks final : public Transport {
  public:
    /// Returns the transport of this rank among the nodes' first ranks; null if this rank is not
    /// one of them.
    static std::unique_ptr<Transport> of(Transport& all) {
        const Topology& topology = all.topology();
        if (first_beside(topology, topology.rank) != topology.rank) return nullptr;
        return std::unique_ptr<Transport>(new LeaderRanks(all));
    }

    const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank, Tag, const SendMemory&) override { return none(); }
    Result<Ticket> receive(Rank, Tag, const ReceiveMemory&) override { return none(); }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        const auto bytes = std::as_writable_bytes(values);
        return start(bytes, [values, op](const std::vector<std::vector<std::byte>>& all) {
            std::vector<std::uint64_t> sums(values.size()), one(values.size());
            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                std::memcpy(one.data(), all[rank].data(), all[rank].size());
                for (std::size_t i = 0; i < one.size(); ++i)
                    sums[i] = rank == 0             ? one[i]
                              : op == ReduceOp::sum ? sums[i] + one[i]
                              : op == ReduceOp::max ? std::max(sums[i], one[i])
                                                    : std::min(sums[i], one[i]);
            }
            std::ranges::copy(sums, values.begin());
        });
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> into) override {
        return start(mine, [into](const std::vector<std::vector<std::byte>>& all) {
            auto to = into.begin();
            for (const auto& block : all) to = std::ranges::copy(block, to).out;
        });
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        return start(data, [root, data](const std::vector<std::vector<std::byte>>& all) {
            std::ranges::copy(all[static_cast<std::size_t>(root)], data.begin());
        });
    }
    Result<Completion> test(Ticket ticket) override {
        Operation& operation = *operations_.at(ticket.id);
        while (!operation.waits_for.empty()) {
            const auto done = all_.test(operation.waits_for.back());
            if (!done || !done->done) return done;
            operation.waits_for.pop_back();
        }
        operation.end(operation.told);
        operations_.erase(ticket.id);
        return Completion{.done = true};
    }
    bool quiet() const override { return operations_.empty(); }
    void idle(const WaitHint& wait_hint) override { all_.idle(wait_hint); }

  private:
    struct Operation {
        std::vector<std::vector<std::byte>> told;  ///< the contributions of all nodes, by node
        std::vector<Ticket> waits_for;
        std::function<void(const std::vector<std::vector<std::byte>>&)> end;
    };

    explicit LeaderRanks(Transport& all) : all_(all) {
        const Topology& topology = all.topology();
        const int nodes = topology.nodes();
        std::vector<int> alone;
        for (int node = 0; node < nodes; ++node) {
            alone.push_back(node);
            leaders_.push_back(topology.rank_at({node, 0}));
        }
        static_cast<Nodes&>(topology_) = pretended_nodes(std::move(alone));
        topology_.rank = topology.node(topology.rank);
    }
    static Result<Ticket> none() {
        return Error::make(ErrorKind::internal, "leaders have collectives only");
    }
    Result<Ticket> start(std::span<const std::byte> mine,
                         std::function<void(const std::vector<std::vector<std::byte>>&)> end) {
        const std::int64_t id = next_++;
        constexpr Tag kTags = 1 << 23;  // tags of an access reach this number only in round 2^19
        const Tag tag = kTags + static_cast<Tag>(id);
        auto operation = std::make_unique<Operation>();
        operation->end = std::move(end);
        operation->told.resize(leaders_.size());
        for (std::size_t node = 0; node < leaders_.size(); ++node) {
            auto& told = operation->told[node];
            told.assign(mine.begin(), mine.end());
            if (static_cast<Rank>(node) == topology_.rank) continue;
            const auto received = all_.receive(leaders_[node], tag, ReceiveMemory(std::span(told)));
            // Each message has its own copy of the data, because a receiver may read it after the
            // sender has given up the collective (FailingLeader).
            sent_.push_back(std::make_unique<std::vector<std::byte>>(mine.begin(), mine.end()));
            const auto sent = all_.send(leaders_[node], tag,
                                        SendMemory(std::span<const std::byte>(*sent_.back())));
            if (!received || !sent) return received ? sent : received;
            operation->waits_for.push_back(*received);
            operation->waits_for.push_back(*sent);
        }
        operations_.emplace(id, std::move(operation));
        return Ticket{id};
    }

    Transport& all_;
    Topology topology_;
    std::vector<Rank> leaders_;
    std::int64_t next_ = 0;
    std::map<std::int64_t, std::unique_ptr<Operation>> operations_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> sent_;
};

}  // namespace oratorio::test
