// SPDX-License-Identifier: BSD-3-Clause
// Several slots of each aggregator and several messages in flight. All message buffers of a rank
// can be in use at once; an aggregator that has none left for a reply would wait forever for ranks
// that wait for its reply.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/memory_store.hpp"
#include "support/rank_file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::many_slots_test {
namespace {

// The ranks' pieces alternate in the file. Each even rank is an aggregator, and needs fewer
// messages for a round than the odd ranks, so it may soon be some rounds ahead of them.
constexpr int kRanks = 8;
constexpr Bytes kLong = 592;
constexpr Bytes kShort = 176;
constexpr Bytes kTile = kRanks / 2 * (kLong + kShort);
constexpr std::int64_t kTilesOfRound = 32;
constexpr std::int64_t kRounds = 24;  // the sum of the rounds of all aggregators
constexpr std::int64_t kTiles = kRounds * kTilesOfRound;

bool is_ahead(Rank rank) {
    return rank % 2 == 0;
}

Bytes piece_of(Rank rank) {
    return is_ahead(rank) ? kShort : kLong;
}

Offset place_of(Rank rank) {
    return rank / 2 * (kLong + kShort) + (is_ahead(rank) ? 0 : kShort);
}

std::byte byte_of(Rank rank) {
    return static_cast<std::byte>(0x80 | rank);
}

/// Returns the first tile of a rank's data. An aggregator's data begins in its own first round, so
/// it sends nothing before that round is open.
std::int64_t first_tile(Rank rank) {
    return is_ahead(rank) ? rank / 2 * kTilesOfRound : 0;
}

/// Returns the file with the bytes of all ranks.
std::vector<std::byte> whole_file() {
    std::vector<std::byte> file;
    for (std::int64_t tile = 0; tile < kTiles; ++tile) {
        for (Rank rank = 0; rank < kRanks; ++rank)
            file.insert(file.end(), static_cast<std::size_t>(piece_of(rank)),
                        tile < first_tile(rank) ? std::byte{} : byte_of(rank));
    }
    return file;
}

/// A store whose first requests take long, and are then done at the same time.
class SlowStore final : public MemoryStore {
  public:
    using MemoryStore::MemoryStore;
    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        if (polls_ > 0 && !wait) {
            --polls_;
            return 0;
        }
        return MemoryStore::reap(out, wait);
    }

  private:
    int polls_ = 2000;
};

struct Setting {
    std::string method;
    Direction direction = Direction::read;
    int slots = 1;
    int messages_in_flight = 1;
    std::uint64_t seed = 1;
};

FlatTerms terms_for(const Setting& setting) {
    FlatTerms terms;
    terms.method = find_method(setting.method);
    terms.aggregators = {0, 2, 4, 6};
    terms.slots = setting.slots;
    terms.sub_buffer = terms.striping_unit = terms.cyclic_block = kTilesOfRound * kTile;
    terms.message_bytes = 4096;
    terms.messages_in_flight = setting.messages_in_flight;
    return terms;
}

/// Makes an access of all ranks and checks every byte. A deadlock is a failure of the simulated
/// transport.
void run(const Setting& setting) {
    const bool reads = setting.direction == Direction::read;
    const std::vector<std::byte> file = whole_file();
    MemoryDisk disk;
    if (reads) disk.write(0, file);
    const SimOptions sim{.ranks = kRanks, .seed = setting.seed, .ranks_per_node = 2};
    run_ranks(sim, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        SlowStore store(disk, {.seed = setting.seed, .asynchronous = true},
                        [&] { transport.idle(); });
        const Bytes before = first_tile(rank) * piece_of(rank);
        const Bytes mine = piece_of(rank) * kTiles - before;
        std::vector<std::byte> memory(static_cast<std::size_t>(mine),
                                      reads ? std::byte{} : byte_of(rank));
        Access access;
        access.direction = setting.direction;
        access.file = {Shape::run(piece_of(rank)), kTile, place_of(rank), Layout::unbounded};
        access.from = before;
        access.memory = {Shape::run(mine), mine, 0, 1};
        access.buffer = memory.data();
        Stats stats;
        RankFile opened(transport, store, terms_for(setting), stats, {});
        const Outcome outcome = opened.access(access);
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        EXPECT_EQ(outcome.bytes, mine);
        EXPECT_EQ(std::ranges::count(memory, byte_of(rank)), mine);
    });
    if (!reads) {
        EXPECT_EQ(disk.contents({0, std::ssize(file)}), file);
    }
}

class ManySlots : public testing::TestWithParam<std::string> {};

TEST_P(ManySlots, LeaveABufferForEachReply) {
    for (const int slots : {4, 8}) {
        for (const int in_flight : {1, 4}) {
            for (const Direction direction : {Direction::read, Direction::write}) {
                SCOPED_TRACE(std::to_string(slots) + " slots, " + std::to_string(in_flight) +
                             " in flight");
                run({GetParam(), direction, slots, in_flight});
                if (HasFailure()) return;
            }
        }
    }
}

/// Before 2026-11-29, the read of seed 48 never ended: after all rounds of a rank had
/// opened at once, receives and the rank's own requests used all of its buffers.
TEST(ManySlotsOfCyclicDomains, LeaveABufferForEachReply) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
        run({"cb_cyclic", Direction::read, 4, 4, seed});
}

std::vector<std::string> methods_with_messages() {
    std::vector<std::string> names;
    for (const Method& method : methods())
        if (method.exchange_part().sends_messages) names.emplace_back(method.name);
    return names;
}

INSTANTIATE_TEST_SUITE_P(methods, ManySlots, testing::ValuesIn(methods_with_messages()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace oratorio::test::many_slots_test
