// SPDX-License-Identifier: BSD-3-Clause
// Failures of collectives between the first ranks of nodes. All ranks of a node learn of the
// failure, no rank waits forever, and none mistakes the data of one collective for that of another.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "comm/node_transport.hpp"
#include "sim/file_ranks.hpp"
#include "support/leader_ranks.hpp"

namespace oratorio::test::failing_leaders_test {
namespace {

constexpr int kAll = -1;
// Number of the collective that fails, among those of the first ranks.
constexpr std::uint64_t kFailing = 3;
constexpr std::uint64_t kTogether = 10;  // number of collectives; a node has fewer boards

struct Fault {
    int node = kAll;  ///< the node whose first rank fails; kAll: all of them
    /// If true, the collective fails to start. Otherwise it fails on this rank after it has sent to
    /// the other ranks, so that these get a result.
    bool at_start = false;
    ErrorKind kind = ErrorKind::none;
};

/// A transport of a node's first rank that fails once. After a while it also gives up a collective
/// that other ranks have not started, as a host MPI would.
class FailingLeader final : public Lent {
  public:
    static constexpr int kPatience = 300;  // number of calls of test() after which a collective is
                                           // given up
    FailingLeader(std::unique_ptr<Transport> leaders, const Fault& fault)
        : Lent(*leaders), leaders_(std::move(leaders)), fault_(fault) {}

    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        return begin([&] { return Lent::reduce(values, op); });
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return begin([&] { return Lent::gather(mine, all); });
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        return begin([&] { return Lent::broadcast(root, data); });
    }
    Result<Completion> test(Ticket ticket) override {
        UnderWay& mine = under_way_.at(ticket.id);
        const auto tested = Lent::test(ticket);
        if (!tested->done && ++mine.tests < kPatience) return tested;
        const std::uint64_t number = mine.number;
        under_way_.erase(ticket.id);
        if (!tested->done) return Error::make(ErrorKind::other, "given up");
        if (is_hit(number) && !fault_.at_start) return Error::make(fault_.kind, "failed");
        return tested;
    }

  private:
    struct UnderWay {
        std::uint64_t number = 0;
        int tests = 0;
    };
    [[nodiscard]] bool is_hit(std::uint64_t number) const {
        const bool meant = fault_.node == kAll || fault_.node == topology().rank;
        return meant && number == kFailing;
    }
    Result<Ticket> begin(const std::function<Result<Ticket>()>& start) {
        const std::uint64_t number = begun_++;
        if (is_hit(number) && fault_.at_start) return Error::make(fault_.kind, "failed");
        const auto ticket = start();
        under_way_[ticket->id] = {.number = number};
        return ticket;
    }

    std::unique_ptr<Transport> leaders_;
    Fault fault_;
    std::uint64_t begun_ = 0;
    std::map<std::int64_t, UnderWay> under_way_;
};

/// For each rank, how each of its collectives ended.
using Ends = std::vector<std::vector<ErrorKind>>;

/// A sum over all ranks, with values that differ from turn to turn.
struct Turn {
    Turn(const Transport& transport, std::uint64_t number)
        : ranks(static_cast<std::uint64_t>(transport.topology().size)),
          turn(number),
          value(static_cast<std::uint64_t>(transport.topology().rank) + 1000 * number) {}
    Result<void> begin(Transport& transport) {
        const auto started = transport.reduce(std::span(&value, 1), ReduceOp::sum);
        if (started) ticket = *started;
        return started ? Result<void>() : started.error();
    }
    /// Ends the sum and returns its error. If it succeeded, expects the right result.
    ErrorKind end(Transport& transport) {
        const auto done = wait(transport, ticket);
        if (!done) return done.error().kind;
        EXPECT_EQ(value, ranks * (ranks - 1) / 2 + 1000 * turn * ranks);
        return ErrorKind::none;
    }
    std::uint64_t ranks = 0;
    std::uint64_t turn = 0;
    std::uint64_t value = 0;
    Ticket ticket;
};

void one_by_one(Transport& transport, std::vector<ErrorKind>& ends) {
    for (std::uint64_t number = 0; number < kTogether; ++number) {
        Turn turn(transport, number);
        ASSERT_TRUE(turn.begin(transport).ok());
        ends.push_back(turn.end(transport));
    }
}

void together(Transport& transport, std::vector<ErrorKind>& ends) {
    std::vector<Turn> turns;
    turns.reserve(kTogether);
    for (std::uint64_t number = 0; number < kTogether; ++number)
        ASSERT_TRUE(turns.emplace_back(transport, number).begin(transport).ok());
    for (Turn& turn : turns) ends.push_back(turn.end(transport));
}

/// Gathers lists that a node stores once, one after the other.
void lists(Transport& transport, std::vector<ErrorKind>& ends) {
    using Block = std::array<std::uint64_t, 8>;
    const auto rank = static_cast<std::uint64_t>(transport.topology().rank);
    for (std::uint64_t number = 0; number < kTogether; ++number) {
        auto gathering = Gathering<Block>::once_for_node({rank, number});
        auto done = gathering.step(transport);
        for (; done && *done != Step::done; done = gathering.step(transport)) transport.idle();
        ends.push_back(done ? ErrorKind::none : done.error().kind);
        for (std::uint64_t other = 0; done && other < gathering.all().size(); ++other)
            EXPECT_EQ(gathering.all()[other], (Block{other, number}));
    }
}

const std::vector<std::vector<int>> kPlacements = {
    {0, 0, 1, 1}, {0, 1, 0, 1, 2}, {0, 1, 1, 1}, {0, 0, 0, 1, 1, 2, 0}};

Ends ends_of(const std::vector<int>& node_of, std::uint64_t seed, const Fault& fault,
             void (*body)(Transport&, std::vector<ErrorKind>&)) {
    Ends ends(node_of.size());
    const auto ranks = static_cast<int>(node_of.size());
    const auto lost = [&fault](int node) {
        return fault.at_start && (fault.node == kAll || fault.node == node);
    };
    // Collectives that the other ranks give up stay unfinished, which the simulation must accept.
    const bool stays = fault.at_start && fault.node != kAll;
    const SimOptions options{
        .ranks = ranks, .seed = seed, .node_of = node_of, .fail_send = stays ? 1U : 0U};
    run_ranks(options, [&](Transport& outer) {
        auto node = NodeTransport::over(
            std::make_unique<Lent>(outer),
            [&]() -> Result<std::unique_ptr<Transport>> {
                auto leader = LeaderRanks::of(outer);
                if (leader == nullptr) return leader;
                return std::unique_ptr<Transport>(new FailingLeader(std::move(leader), fault));
            },
            agreed_from([] { return std::size_t{0}; }));
        ASSERT_TRUE(node.ok());
        const Rank rank = outer.topology().rank;
        body(**node, ends[static_cast<std::size_t>(rank)]);
        const bool leads = first_beside(outer.topology(), rank) == rank;
        const bool unusable = leads && lost(node_of[static_cast<std::size_t>(rank)]);
        EXPECT_TRUE(!unusable || !(*node)->quiet()) << "no other file may use it";
    });
    return ends;
}

/// Tries a fault on every placement, with collectives one by one, all at once, and as lists.
/// `expected` returns the result of a collective on the ranks of a node.
void try_fault(const Fault& fault,
               const std::function<ErrorKind(int node, std::uint64_t number)>& expected) {
    for (const auto& node_of : kPlacements) {
        for (const auto body : {one_by_one, together, lists}) {
            for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                const Ends ends = ends_of(node_of, seed, fault, body);
                for (std::size_t rank = 0; rank < ends.size(); ++rank) {
                    ASSERT_EQ(ends[rank].size(), kTogether) << "rank " << rank << " seed " << seed;
                    for (std::uint64_t number = 0; number < kTogether; ++number)
                        EXPECT_EQ(ends[rank][number], expected(node_of[rank], number))
                            << "rank " << rank << " of " << ends.size() << ", collective " << number
                            << ", seed " << seed;
                }
            }
        }
    }
}

TEST(FailingLeaders, AFailureOfAllReachesAllAndTheNextCollectiveWorks) {
    try_fault({.kind = ErrorKind::communicator}, [](int, std::uint64_t number) {
        return number == kFailing ? ErrorKind::communicator : ErrorKind::none;
    });
}

TEST(FailingLeaders, AFailureOfOneReachesItsNodeAndTheNextCollectiveWorks) {
    try_fault({.node = 1, .kind = ErrorKind::no_memory}, [](int node, std::uint64_t number) {
        return node == 1 && number == kFailing ? ErrorKind::no_memory : ErrorKind::none;
    });
}

TEST(FailingLeaders, IfNoneCanStartAllFailFromThenOn) {
    try_fault({.at_start = true, .kind = ErrorKind::no_memory}, [](int, std::uint64_t number) {
        return number < kFailing ? ErrorKind::none : ErrorKind::no_memory;
    });
}

/// If the node that failed to start continued, the other nodes would mistake its next collective
/// for the one that it could not start.
TEST(FailingLeaders, IfOneCannotStartNoRankGetsDataOfAnotherCollective) {
    for (const int node : {0, 1}) {
        try_fault({.node = node, .at_start = true, .kind = ErrorKind::no_memory},
                  [node](int of, std::uint64_t number) {
                      return number < kFailing ? ErrorKind::none
                             : of == node      ? ErrorKind::no_memory
                                               : ErrorKind::other;
                  });
    }
}

}  // namespace
}  // namespace oratorio::test::failing_leaders_test
