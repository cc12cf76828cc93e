// SPDX-License-Identifier: BSD-3-Clause
// Exchange through collective buffers that all ranks of the node map: each rank copies its own
// data, so only the storage calls are left to aggregators (Hastings & Choudhary 2006, "collective
// shared buffer"), or to any free rank if the plan says any_rank_loads(). Ranks communicate through
// the control words of exchange/node_shared/node_memory.
#include <algorithm>
#include <vector>

#include "exchange/data_port.hpp"
#include "exchange/node_shared/node_rounds.hpp"
#include "exchange/node_shared/waking.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

void lower(std::atomic<Offset>& word, Offset value) {
    Offset seen = word.load();
    while (value < seen && !word.compare_exchange_weak(seen, value)) {
    }
}

void raise(std::atomic<Offset>& word, Offset value) {
    Offset seen = word.load();
    while (value > seen && !word.compare_exchange_weak(seen, value)) {
    }
}

/// Adds one rank's contents to the answer to an aggregator's query.
void add(ContentsQuery& query, const RoundContents& contents) {
    query.bytes += contents.bytes;
    query.coverage += contents.coverage;
    if (contents.hull.empty()) return;
    lower(query.first, contents.hull.begin);
    raise(query.last, contents.hull.end);
}

Extent hull_in(const ContentsQuery& query) {
    const Offset first = query.first;
    return first == INT64_MAX ? Extent{} : Extent{first, query.last};
}

class SharedExchange final : public Exchange {
  public:
    SharedExchange(const ExchangeContext& context, std::unique_ptr<DataPort> runs);

    void expect(std::int64_t round) override;
    std::optional<RoundContents> contents(std::int64_t round) const override;
    void open(int aggregator, std::int64_t round, const RoundBuffer& buffer,
              Offset valid_until) override;
    bool close_if_served(std::int64_t round, Bytes& held) override;
    Result<Step> step() override;
    ExchangeProgress progress() const override;
    Doorbell* doorbell() const override { return &context_.node->doorbell(rank_); }

  private:
    /// This rank's progress with one aggregator. If any rank may load rounds, each of the
    /// aggregator's sub-buffers has its own Progress: different ranks load the sub-buffers, so a
    /// later round may open before an earlier one.
    struct Progress {
        int aggregator = 0;
        std::int64_t round = 0;     ///< next round to move data in
        std::int64_t answered = 0;  ///< next round to report the contents of
    };
    void begin_progress();
    [[nodiscard]] std::uint64_t key(std::int64_t round) const {
        return round_key(context_.sequence, round);
    }
    void tell_participants(int aggregator, std::int64_t round);
    bool answer(Progress& progress);
    bool move_data(Progress& progress);
    void check_in(std::atomic<std::int64_t>& to_come, int aggregator);

    ExchangeContext context_;
    const Plan& plan_;
    Rank rank_;
    int index_;         ///< this rank's index among the aggregators, or -1
    std::size_t mine_;  ///< this rank's participant index
    bool reading_;
    std::unique_ptr<DataPort> runs_;
    const Waking waking_;
    int apart_;                       ///< distance between successive rounds of one Progress
    std::vector<Progress> progress_;  ///< entries in the order in which this rank visits them
    Bytes received_ = 0;
    bool differs_ = false;
};

SharedExchange::SharedExchange(const ExchangeContext& context, std::unique_ptr<DataPort> runs)
    : context_(context),
      plan_(context.plan),
      rank_(context.transport.topology().rank),
      index_(plan_.aggregator_index(rank_)),
      mine_(plan_.graph.find(rank_)),
      reading_(plan_.direction == Direction::read),
      runs_(std::move(runs)),
      waking_(*context.node, context.transport.topology(), plan_.any_rank_loads()),
      apart_(plan_.any_rank_loads() ? plan_.slots : 1) {
    begin_progress();
}

void SharedExchange::begin_progress() {
    const auto count = static_cast<int>(plan_.aggregators.size());
    const int first = plan_.first_aggregator(rank_);
    for (int turn = 0; turn < count; ++turn) {
        const int aggregator = (first + turn) % count;
        for (int slot = 0; slot < apart_; ++slot) {
            const auto round = plan_.next_round(mine_, aggregator, slot, apart_);
            progress_.push_back({aggregator, round, plan_.asks_contents() ? round : plan_.rounds});
        }
    }
}

void SharedExchange::tell_participants(int aggregator, std::int64_t round) {
    plan_.each_participant(aggregator, round, [&](std::size_t i) {
        waking_.tell(plan_.graph.participant(i).rank);
        return true;
    });
    waking_.call_others();
}

void SharedExchange::expect(std::int64_t round) {
    ContentsQuery& query = context_.node->query(index_, round);
    query.begin = plan_.region(index_, round).begin;
    query.bytes = 0;
    query.coverage = 0;
    query.first = INT64_MAX;
    query.last = INT64_MIN;
    query.to_come = plan_.count_participants(index_, round);
    query.round = key(round);
    tell_participants(index_, round);
}

std::optional<RoundContents> SharedExchange::contents(std::int64_t round) const {
    const ContentsQuery& query = context_.node->query(index_, round);
    if (query.to_come > 0) return std::nullopt;
    return RoundContents{query.bytes, query.coverage, hull_in(query)};
}

void SharedExchange::open(int aggregator, std::int64_t round, const RoundBuffer& buffer,
                          Offset valid_until) {
    SlotControl& slot = control_of(*context_.node, plan_, aggregator, round);
    const std::byte* const first = context_.node->buffers().data();
    slot.begin = plan_.region(aggregator, round).begin;
    slot.bytes = 0;
    slot.valid_until = valid_until;
    slot.buffer = buffer.data.data() - first;
    slot.mask = buffer.mask.empty() ? -1 : buffer.mask.data() - first;
    slot.to_come = plan_.count_participants(aggregator, round);
    slot.round = key(round);
    tell_participants(aggregator, round);
}

bool SharedExchange::close_if_served(std::int64_t round, Bytes& held) {
    const SlotControl& slot = control_of(*context_.node, plan_, index_, round);
    if (slot.to_come > 0) return false;
    held = slot.bytes;
    return true;
}

Result<Step> SharedExchange::step() {
    bool moved = false;
    for (Progress& progress : progress_) {
        while (progress.answered < plan_.rounds && answer(progress)) moved = true;
        while (progress.round < plan_.rounds && move_data(progress)) moved = true;
    }
    return progressed_if(moved);
}

bool SharedExchange::answer(Progress& progress) {
    const int aggregator = progress.aggregator;
    ContentsQuery& query = context_.node->query(aggregator, progress.answered);
    if (query.round != key(progress.answered)) return false;
    const Region region = plan_.region(aggregator, progress.answered);
    if (query.begin == region.begin) {
        if (const auto contents = runs_->contents(region)) add(query, *contents);
    }
    progress.answered = plan_.next_round(mine_, aggregator, progress.answered + apart_, apart_);
    check_in(query.to_come, aggregator);
    return true;
}

bool SharedExchange::move_data(Progress& progress) {
    const int aggregator = progress.aggregator;
    SlotControl& slot = control_of(*context_.node, plan_, aggregator, progress.round);
    if (slot.round != key(progress.round)) return false;
    const Region region = plan_.region(aggregator, progress.round);
    if (slot.begin == region.begin) {
        std::byte* const first = context_.node->buffers().data();
        std::byte* const mask = slot.mask < 0 ? nullptr : first + slot.mask;
        const Bytes mine = runs_->copy(region, first + slot.buffer, mask, slot.valid_until).bytes;
        if (reading_) {
            received_ += mine;
        } else {
            slot.bytes += mine;
        }
    } else {
        differs_ = true;
    }
    progress.round = plan_.next_round(mine_, aggregator, progress.round + apart_, apart_);
    check_in(slot.to_come, aggregator);
    return true;
}

void SharedExchange::check_in(std::atomic<std::int64_t>& to_come, int aggregator) {
    const Rank owner = plan_.aggregators[static_cast<std::size_t>(aggregator)];
    if (to_come.fetch_sub(1) != 1) return;
    waking_.tell(owner);
    waking_.call_others();
}

ExchangeProgress SharedExchange::progress() const {
    const bool finished =
        std::all_of(progress_.begin(), progress_.end(), [&](const Progress& progress) {
            return progress.round >= plan_.rounds && progress.answered >= plan_.rounds;
        });
    return {finished, received_, differs_};
}

}  // namespace

std::unique_ptr<Exchange> make_shared_exchange(const ExchangeContext& context) {
    return std::make_unique<SharedExchange>(context, make_own_data(context, true));
}

}  // namespace oratorio
