// SPDX-License-Identifier: BSD-3-Clause
// Exchange through collective buffers that all ranks of the node map: each rank copies its own
// data, and an aggregator only performs the storage calls (Hastings & Choudhary 2006, "collective
// shared buffer"). Ranks communicate through the control words of exchange/node_shared/node_memory.
#include <algorithm>
#include <vector>

#include "exchange/node_shared/node_rounds.hpp"
#include "exchange/data_port.hpp"
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

/// Adds one rank's contents to the answer.
void add(Question& question, const RoundContents& contents) {
    question.bytes += contents.bytes;
    question.coverage += contents.coverage;
    if (contents.hull.empty()) return;
    lower(question.first, contents.hull.begin);
    raise(question.last, contents.hull.end);
}

Extent hull_in(const Question& question) {
    const Offset first = question.first;
    return first == INT64_MAX ? Extent{} : Extent{first, question.last};
}

class SharedExchange final : public Exchange {
  public:
    SharedExchange(const ExchangeContext& context, std::unique_ptr<Runs> runs);

    void expect(std::int64_t round) override;
    std::optional<RoundContents> contents(std::int64_t round) const override;
    void open(int aggregator, std::int64_t round, const RoundBuffer& buffer,
              Offset valid_until) override;
    bool close_if_served(std::int64_t round, Bytes& held) override;
    Result<Step> step() override;
    Standing standing() const override;
    Bell* bell() const override { return &context_.node->bell(rank_); }

  private:
    /// This rank's progress with one aggregator; with shared loads, with one of its sub-buffers:
    /// different ranks load those, so a later round may open before an earlier one.
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
    int index_;         ///< among the aggregators; -1: none
    std::size_t mine_;  ///< this rank's participant index
    bool reading_;
    std::unique_ptr<Runs> runs_;
    const Waking waking_;
    int apart_;                       ///< distance of one Progress's rounds
    std::vector<Progress> progress_;  ///< in the order in which this rank visits them
    Bytes received_ = 0;
    bool differs_ = false;
};

SharedExchange::SharedExchange(const ExchangeContext& context, std::unique_ptr<Runs> runs)
    : context_(context),
      plan_(context.plan),
      rank_(context.transport.topology().rank),
      index_(plan_.aggregator_index(rank_)),
      mine_(plan_.graph.find(rank_)),
      reading_(plan_.direction == Direction::read),
      runs_(std::move(runs)),
      waking_(*context.node, context.transport.topology(), plan_.shared_loads),
      apart_(plan_.shared_loads ? plan_.slots : 1) {
    begin_progress();
}

void SharedExchange::begin_progress() {
    const auto count = static_cast<int>(plan_.aggregators.size());
    const int first = plan_.first_aggregator(rank_);
    for (int turn = 0; turn < count; ++turn) {
        const int aggregator = (first + turn) % count;
        for (int slot = 0; slot < apart_; ++slot) {
            const auto round = plan_.next_round(mine_, aggregator, slot, apart_);
            progress_.push_back({aggregator, round, plan_.ask_contents ? round : plan_.rounds});
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
    Question& question = context_.node->question(index_, round);
    question.begin = plan_.region(index_, round).begin;
    question.bytes = 0;
    question.coverage = 0;
    question.first = INT64_MAX;
    question.last = INT64_MIN;
    question.to_come = plan_.count_participants(index_, round);
    question.round = key(round);
    tell_participants(index_, round);
}

std::optional<RoundContents> SharedExchange::contents(std::int64_t round) const {
    const Question& question = context_.node->question(index_, round);
    if (question.to_come > 0) return std::nullopt;
    return RoundContents{question.bytes, question.coverage, hull_in(question)};
}

void SharedExchange::open(int aggregator, std::int64_t round, const RoundBuffer& buffer,
                          Offset valid_until) {
    SlotControl& slot = control_of(*context_.node, plan_, aggregator, round);
    const std::byte* const first = context_.node->buffers().data();
    slot.begin = plan_.region(aggregator, round).begin;
    slot.bytes = 0;
    slot.valid_until = valid_until;
    slot.buffer = buffer.data.data() - first;
    slot.given = buffer.given.empty() ? -1 : buffer.given.data() - first;
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
    Question& question = context_.node->question(aggregator, progress.answered);
    if (question.round != key(progress.answered)) return false;
    const Region region = plan_.region(aggregator, progress.answered);
    if (question.begin == region.begin) {
        if (const auto contents = runs_->contents(region)) add(question, *contents);
    }
    progress.answered = plan_.next_round(mine_, aggregator, progress.answered + apart_, apart_);
    check_in(question.to_come, aggregator);
    return true;
}

bool SharedExchange::move_data(Progress& progress) {
    const int aggregator = progress.aggregator;
    SlotControl& slot = control_of(*context_.node, plan_, aggregator, progress.round);
    if (slot.round != key(progress.round)) return false;
    const Region region = plan_.region(aggregator, progress.round);
    if (slot.begin == region.begin) {
        std::byte* const first = context_.node->buffers().data();
        std::byte* const given = slot.given < 0 ? nullptr : first + slot.given;
        const Bytes mine = runs_->copy(region, first + slot.buffer, given, slot.valid_until).bytes;
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

Standing SharedExchange::standing() const {
    const bool finished =
        std::all_of(progress_.begin(), progress_.end(), [&](const Progress& progress) {
            return progress.round >= plan_.rounds && progress.answered >= plan_.rounds;
        });
    return {finished, received_, differs_};
}

}  // namespace

std::unique_ptr<Exchange> make_shared_exchange(const ExchangeContext& context) {
    return std::make_unique<SharedExchange>(context, make_own_runs(context, true));
}

}  // namespace oratorio
