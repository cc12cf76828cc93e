// SPDX-License-Identifier: BSD-3-Clause
// The gain from several slots of an aggregator, counted in steps of a simulated clock. Only two
// things advance the clock: the exchange of a round takes the aggregator one step, and storing or
// loading the round takes steps of the storage, which works concurrently.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::overlap_test {
namespace {

constexpr Bytes kRegion = 8 << 10;
constexpr Bytes kPiece = 512;  // the two ranks have alternate pieces
constexpr int kRounds = 24;

using Lasts = std::function<int(std::int64_t round)>;

struct Clock {
    std::int64_t now = 0;
};

/// A store that runs one request after the other. `lasts` returns the number of steps that the
/// request of a round takes.
class TimedStore final : public MemoryStore {
  public:
    TimedStore(MemoryDisk& disk, Clock& clock, Lasts lasts)
        : MemoryStore(disk),
          disk_(disk),
          clock_(clock),
          lasts_(std::move(lasts)),
          facts_(MemoryStore::facts()) {
        facts_.limits.queue_depth = kSlotsMost;
        facts_.limits.asynchronous = facts_.limits.performs_jobs = true;
    }
    const StoreFacts& facts() const override { return facts_; }
    Submitted submit(const IoRequest& request) override {
        IoCompletion done{.token = request.token};
        std::int64_t steps = 0;
        if (request.job != nullptr) {
            steps = steps_of(*request.job);
        } else {
            (void)MemoryStore::submit(request);
            EXPECT_EQ(MemoryStore::reap(std::span(&done, 1), true), 1U);
            steps = lasts_(request.offset / kRegion);
        }
        free_at_ = std::max(free_at_, clock_.now) + steps;
        under_way_.push_back({free_at_, done});
        return Submitted::queued;
    }
    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        if (wait) skip();
        std::size_t count = 0;
        while (count < out.size() && !under_way_.empty() &&
               under_way_.front().first <= clock_.now) {
            out[count++] = under_way_.front().second;
            under_way_.pop_front();
        }
        return count;
    }
    /// Advances the clock to the time at which the next request ends.
    void skip() {
        if (!under_way_.empty()) clock_.now = std::max(clock_.now, under_way_.front().first);
    }

  private:
    /// Performs a job. Each of its transfers takes one step.
    std::int64_t steps_of(StoreJob& job) {
        const auto calls = [this] { return disk_.counters().reads + disk_.counters().writes; };
        const auto before = calls();
        MemoryStore own(disk_);
        job.perform(own);
        return static_cast<std::int64_t>(calls() - before);
    }

    MemoryDisk& disk_;
    Clock& clock_;
    Lasts lasts_;
    StoreFacts facts_;
    std::int64_t free_at_ = 0;
    std::deque<std::pair<std::int64_t, IoCompletion>> under_way_;
};

/// The aggregator's transport. Each message that the aggregator receives counts as the exchange of
/// one round. Time stands still while the aggregator waits for a message. If it waits but expects
/// no message, it waits for the storage, and the clock advances to the end of the next request.
class TimedTransport final : public Transport {
  public:
    TimedTransport(Transport& real, Clock& clock, TimedStore& store)
        : real_(real), clock_(clock), store_(store) {}
    const Topology& topology() const override { return real_.topology(); }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        return real_.send(to, tag, data);
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        auto ticket = real_.receive(from, tag, into);
        awaited_.insert(ticket->id);
        return ticket;
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        return real_.reduce(values, op);
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return real_.gather(mine, all);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        return real_.broadcast(root, data);
    }
    Result<Completion> test(Ticket ticket) override {
        auto done = real_.test(ticket);
        if (done->done && awaited_.erase(ticket.id) > 0) ++clock_.now;
        return done;
    }
    SharedCounter& counter() override { return real_.counter(); }
    bool quiet() const override { return real_.quiet(); }
    void idle(const WaitHint& wait_hint) override {
        if (awaited_.empty()) store_.skip();
        real_.idle(wait_hint);
    }

  private:
    Transport& real_;
    Clock& clock_;
    TimedStore& store_;
    std::set<std::int64_t> awaited_;
};

struct Overlap {
    Direction direction = Direction::write;
    int slots = 1;
    Lasts lasts = [](std::int64_t) { return 1; };
    bool holes = false;  ///< half of each region belongs to no rank

    [[nodiscard]] Bytes piece() const { return holes ? kPiece / 8 : kPiece; }
    [[nodiscard]] Bytes tile() const { return (holes ? 4 : 2) * piece(); }
    /// Returns the bytes of each rank's data.
    [[nodiscard]] Bytes each() const { return kRounds * kRegion / tile() * piece(); }
};

/// Runs one access of two ranks, of which the first aggregates. Returns the number of steps that
/// the access took.
std::int64_t steps_of(const Overlap& overlap, std::uint64_t seed) {
    MemoryDisk disk;
    if (overlap.direction == Direction::read) disk.resize(kRounds * kRegion);
    Clock clock;
    TimedStore store(disk, clock, overlap.lasts);
    FlatTerms options;
    options.method = find_method("two_phase");
    options.slots = overlap.slots;
    options.cb_nodes = 1;
    options.sub_buffer = kRegion;
    options.asynchronous = true;
    // Completions are reported at once, and in the order in which messages arrive.
    const SimOptions prompt{.ranks = 2, .seed = seed, .switch_percent = 0, .late_percent = 0};
    run_ranks(prompt, [&](Transport& real) {
        const Rank rank = real.topology().rank;
        TimedTransport timed(real, clock, store);
        MemoryStore unused(disk);
        Stats stats;
        const Bytes each = overlap.each();
        std::vector<std::byte> memory(static_cast<std::size_t>(each));
        Access access;
        access.direction = overlap.direction;
        access.file = {Shape::run(overlap.piece()), overlap.tile(), rank * overlap.piece(),
                       Layout::unbounded};
        access.memory = {Shape::run(each), each, 0, 1};
        access.buffer = memory.data();
        const bool first = rank == 0;
        RankFile file(first ? static_cast<Transport&>(timed) : real,
                      first ? static_cast<Store&>(store) : unused, options, stats);
        const Outcome outcome = file.access(access);
        EXPECT_EQ(outcome.bytes, each);
        EXPECT_EQ(stats.rounds, first ? kRounds : 0U);
    });
    return clock.now;
}

/// Returns the least possible number of steps. The first phase of a round (the exchange of a write,
/// the load of a read) begins once that of the round before has ended and a slot is free.
std::int64_t least_steps(const Overlap& overlap) {
    const bool writes = overlap.direction == Direction::write;
    std::vector<std::int64_t> first(kRounds), second(kRounds);  // for each round, the step at which
                                                                // the phase ends
    const auto at = [](const std::vector<std::int64_t>& ends, int round) {
        return round < 0 ? 0 : ends[static_cast<std::size_t>(round)];
    };
    for (int round = 0; round < kRounds; ++round) {
        const int stored = overlap.lasts(round);
        const auto i = static_cast<std::size_t>(round);
        first[i] = std::max(at(first, round - 1), at(second, round - overlap.slots)) +
                   (writes ? 1 : stored);
        second[i] = std::max(first[i], at(second, round - 1)) + (writes ? stored : 1);
    }
    return second.back();
}

class Overlaps : public testing::TestWithParam<Direction> {};

TEST_P(Overlaps, WithTwoSlotsOrMoreStorageAsSlowAsTheExchangeCostsOneStep) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        EXPECT_EQ(steps_of({GetParam(), 1}, seed), 2 * kRounds);
        for (const int slots : {2, 4, 8})
            EXPECT_EQ(steps_of({GetParam(), slots}, seed), kRounds + 1) << slots << " slots";
    }
}

/// A write with holes reads, merges and writes each region in one job of two steps. Tsujita et al.,
/// "Multithreaded Two-Phase I/O" (2014), section II-B: the job of a round runs while the next round
/// is exchanged.
TEST(Overlap, TheReadModifyWriteOfARoundOverlapsTheNextExchange) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        EXPECT_EQ(steps_of({.slots = 1, .holes = true}, seed), 3 * kRounds);
        for (const int slots : {2, 4, 8})
            EXPECT_EQ(steps_of({.slots = slots, .holes = true}, seed), 2 * kRounds + 1)
                << slots << " slots";
    }
}

/// More than two slots help if the storage is slow in some rounds only.
TEST_P(Overlaps, MoreSlotsOutlastStorageThatHesitates) {
    const Lasts hesitates = [](std::int64_t round) { return round % 6 == 2 ? 6 : 0; };
    std::int64_t before = INT64_MAX;
    for (const int slots : {1, 2, 4, 8}) {
        const Overlap overlap{GetParam(), slots, hesitates};
        const std::int64_t steps = steps_of(overlap, 1);
        EXPECT_EQ(steps, least_steps(overlap)) << slots << " slots";
        EXPECT_LT(steps, before);
        before = steps;
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, Overlaps, testing::Values(Direction::write, Direction::read),
                         [](const auto& each) {
                             return each.param == Direction::write ? "writes" : "reads";
                         });

}  // namespace
}  // namespace oratorio::test::overlap_test
