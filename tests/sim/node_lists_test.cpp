// SPDX-License-Identifier: BSD-3-Clause
// The inputs of planning are stored once on each of several nodes. The plans must be those that
// each rank makes from a list of its own, and only the nodes' first ranks exchange data. If any
// node has no memory for the list, each rank on all nodes has a list of its own.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "comm/node_boards.hpp"
#include "engine/planning.hpp"
#include "sim/case.hpp"
#include "sim/file_ranks.hpp"
#include "support/leader_ranks.hpp"
#include "support/rank_file.hpp"

namespace oratorio::test::node_lists_test {
namespace {

constexpr Bytes kOfRank = 48;  // length of a rank's summary, and of its entry about a sparse graph

/// Counts of the collectives that were started on a transport.
struct Asked {
    int reductions = 0;
    int broadcasts = 0;
    int gathers = 0;
    Bytes gathered = 0;  ///< total size of all gathers' results
    bool operator==(const Asked&) const = default;
};

void PrintTo(const Asked& asked, std::ostream* out) {
    *out << asked.reductions << " reductions, " << asked.broadcasts << " broadcasts, "
         << asked.gathers << " gathers of " << asked.gathered << " bytes";
}

class Watching final : public Lent {
  public:
    Watching(std::unique_ptr<Transport> beneath, Asked& asked)
        : Lent(*beneath), beneath_(std::move(beneath)), asked_(asked) {}
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        ++asked_.reductions;
        return Lent::reduce(values, op);
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        ++asked_.gathers;
        asked_.gathered += std::ssize(all);
        return Lent::gather(mine, all);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        ++asked_.broadcasts;
        return Lent::broadcast(root, data);
    }

  private:
    std::unique_ptr<Transport> beneath_;
    Asked& asked_;
};

/// The collectives that one rank started on its transports.
struct Ways {
    Asked all;            ///< counts on the transport of all ranks
    Asked leaders;        ///< counts on the transport of the nodes' first ranks
    bool listed = false;  ///< the rank's node has a shared list for summaries
};

enum class Kept { by_rank, by_node };

Result<std::unique_ptr<Transport>> open_way(Transport& messages, Kept kept, Ways& ways) {
    return NodeTransport::over(
        std::make_unique<Watching>(std::make_unique<Lent>(messages), ways.all),
        [&]() -> Result<std::unique_ptr<Transport>> {
            auto leader = LeaderRanks::of(messages);
            if (leader == nullptr) return leader;
            return std::unique_ptr<Transport>(
                std::make_unique<Watching>(std::move(leader), ways.leaders));
        },
        kept == Kept::by_node ? agreed_from([] { return std::size_t{0}; })
                              : agreed_from([] { return SIZE_MAX; }));
}

/// Returns everything that a plan says about a rank, including its regions, as text.
std::string told(const Plan& plan, Rank rank) {
    std::string text = explain(plan) + fingerprint(plan);
    const auto add = [&](std::int64_t number) { text += " " + std::to_string(number); };
    for (RankRegions at = plan.regions_of(rank); !at.at_end(); at.advance()) {
        add(at.round());
        add(at.aggregator());
        add(plan.aggregators[static_cast<std::size_t>(at.aggregator())]);
    }
    for (const Graph* graph : {&plan.ranks, &plan.graph}) {
        for (std::size_t i = 0; i < graph->size(); ++i) {
            add(graph->participant(i).rank);
            add(graph->participant(i).hull.begin);
            add(graph->participant(i).hull.end);
        }
    }
    if (plan.layers().two()) {
        add(plan.layers().local_aggregator_of(rank));
        for (const Rank member : plan.layers().group_of(rank)) add(member);
    }
    return text;
}

struct Planned {
    std::vector<std::string> plans;  ///< for each rank, the plans of all accesses as text
    /// For each rank, the collectives since the node transport was opened.
    std::vector<Ways> ways;
    std::vector<SimCounters> counters;
};

/// Plans several collective writes, one after the other, each of a different case.
Planned plan_all(const std::vector<int>& node_of, const char* method, Kept kept) {
    constexpr std::uint64_t kAccesses = 4;
    const int ranks = static_cast<int>(node_of.size());
    std::vector<Case> cases;
    for (std::uint64_t seed = 1; seed <= kAccesses; ++seed)
        cases.push_back(make_case(seed, ranks, seed % 2 == 0));
    Planned planned;
    planned.plans.resize(node_of.size());
    planned.ways.resize(node_of.size());
    const auto report =
        run_ranks({.ranks = ranks, .seed = 5, .node_of = node_of}, [&](Transport& messages) {
            const auto place = static_cast<std::size_t>(messages.topology().rank);
            Ways& ways = planned.ways[place];
            auto way = open_way(messages, kept, ways);
            ASSERT_TRUE(way.ok());
            ways = {};
            ways.listed = !list_of_node(**way, node_of.size() * sizeof(AccessSummary)).empty();
            for (Case& one : cases) {
                Access& access = one.parts[place].access;
                access.direction = Direction::write;
                Stats stats;
                MemoryDisk disk;
                MemoryStore store(disk);
                RankFile file(**way, store, agents_among(ranks, small_options(method, one.seed)),
                              stats);
                const RunContext context = file.next_run();
                Planning planning(context, access, true);
                planning.begin(false, 0);
                auto done = planning.step();
                for (; done && *done != Step::done; done = planning.step()) (*way)->idle();
                ASSERT_TRUE(done.ok());
                planned.plans[place] += told(planning.plan(), messages.topology().rank);
            }
            EXPECT_TRUE((*way)->quiet());
        });
    planned.counters = report.counters;
    return planned;
}

const std::vector<std::vector<int>> kPlacements = {
    {0, 0, 1, 1}, {0, 1, 0, 1, 2}, {0, 1, 1, 1}, {0, 0, 0, 1, 1, 2, 0}};

class NodeLists : public testing::TestWithParam<const char*> {};

TEST_P(NodeLists, PlansAreThoseOfListsThatEachRankHas) {
    auto placements = kPlacements;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        placements.push_back(uneven_nodes(9, seed));
        if (std::ranges::max(placements.back()) == 0) placements.back().back() = 1;
    }
    for (const auto& node_of : placements) {
        const Planned by_node = plan_all(node_of, GetParam(), Kept::by_node);
        EXPECT_EQ(by_node.plans, plan_all(node_of, GetParam(), Kept::by_rank).plans)
            << testing::PrintToString(node_of);
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, NodeLists,
                         testing::Values("two_phase", "cb_cyclic", "sparse", "two_layer",
                                         "two_layer_shared", "list_io"),
                         [](const auto& tested) { return std::string(tested.param); });

/// The program makes four accesses. A gather's result has, for each node, room for as many ranks as
/// the largest node has.
TEST(NodeListCounts, OneGatherOfTheFirstRanksForEachAccess) {
    for (const auto& node_of : kPlacements) {
        const auto nodes = static_cast<std::size_t>(std::ranges::max(node_of)) + 1;
        std::vector<int> of_nodes(nodes);
        for (const int node : node_of) ++of_nodes[static_cast<std::size_t>(node)];
        const auto rooms = static_cast<Bytes>(nodes) * std::ranges::max(of_nodes);
        const Planned planned = plan_all(node_of, "two_phase", Kept::by_node);
        for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
            const bool first = std::ranges::find(node_of, node_of[rank]) ==
                               node_of.begin() + static_cast<std::ptrdiff_t>(rank);
            EXPECT_EQ(planned.ways[rank].all, Asked{}) << "nothing among all ranks";
            EXPECT_EQ(planned.ways[rank].leaders,
                      (first ? Asked{.gathers = 4, .gathered = 4 * rooms * kOfRank} : Asked{}));
        }
    }
}

/// In a sparse graph, the edges are gathered as well, once the summaries have been used.
TEST(NodeListCounts, ASparseGraphTakesOneMore) {
    const Planned planned = plan_all({0, 0, 1, 1}, "sparse", Kept::by_node);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(planned.ways[rank].all, Asked{});
        EXPECT_EQ(planned.ways[rank].leaders,
                  (rank % 2 == 0 ? Asked{.gathers = 8, .gathered = 8 * 4 * kOfRank} : Asked{}));
    }
}

/// Limits the shared memory that this process can create, and the files that it writes, to `bytes`.
class WithShortMemory {
  public:
    explicit WithShortMemory(Bytes bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit low = before_;
        low.rlim_cur = static_cast<rlim_t>(bytes);
        setrlimit(RLIMIT_FSIZE, &low);
    }
    WithShortMemory(const WithShortMemory&) = delete;
    WithShortMemory& operator=(const WithShortMemory&) = delete;
    ~WithShortMemory() { setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

/// Returns the size of a node's shared memory, with a list or without.
Bytes memory_of(const std::vector<int>& node_of, Rank rank, bool with_list) {
    const Topology topology{pretended_nodes(node_of), rank};
    const auto nodes = Agreed<const Nodes&>::vouch(topology);
    const auto list =
        NodeBoards::list_bytes(nodes, with_list ? agreed_from([] { return std::size_t{0}; })
                                                : agreed_from([] { return SIZE_MAX; }));
    return NodeBoards::bytes(NodePlace(topology, list));
}

TEST(NodeListMemory, WithTooLittleMemoryOnOneNodeEachRankKeepsItsOwnList) {
    constexpr Bytes kMark = 64;  // length of the mark that is written after any shared memory
    // Node 0 has more ranks than node 1, so its shared memory is larger.
    const std::vector<int> node_of{0, 0, 0, 1, 1};
    const Planned expected = plan_all(node_of, "two_phase", Kept::by_rank);
    for (const bool fits : {true, false}) {
        const Bytes all = memory_of(node_of, 0, true) + kMark;
        ASSERT_GT(all, memory_of(node_of, 0, false) + kMark);
        ASSERT_GT(all - 1, memory_of(node_of, 3, true) + kMark) << "node 1 has enough";
        const WithShortMemory short_memory(fits ? all : all - 1);
        const Planned planned = plan_all(node_of, "two_phase", Kept::by_node);
        EXPECT_EQ(planned.plans, expected.plans);
        for (const Ways& ways : planned.ways) {
            EXPECT_EQ(ways.listed, fits);
            EXPECT_EQ(ways.all, Asked{}) << "so short a list goes through boards";
        }
    }
}

TEST(NodeListMemory, WithoutSharedMemoryRanksGatherByMessages) {
    const std::vector<int> node_of{0, 0, 0, 1, 1};
    const WithShortMemory short_memory(memory_of(node_of, 0, false));
    const Planned planned = plan_all(node_of, "two_phase", Kept::by_node);
    for (const Ways& ways : planned.ways) {
        EXPECT_FALSE(ways.listed);
        EXPECT_EQ(ways.all, (Asked{.gathers = 4, .gathered = 4 * 5 * kOfRank}));
        EXPECT_EQ(ways.leaders, Asked{});
    }
}

}  // namespace
}  // namespace oratorio::test::node_lists_test
