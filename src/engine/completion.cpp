// SPDX-License-Identifier: BSD-3-Clause
#include "engine/completion.hpp"

#include <algorithm>
#include <vector>

#include "exchange/messages/rounds.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

/// Completes an access by an agreement of all ranks, which is one reduction if nothing failed.
/// After a failed write through aggregators, the ranks also gather how far each rank's storage got.
class AgreedCompletion final : public AccessCompletion {
  public:
    AgreedCompletion(Transport& transport, const Plan& plan) : transport_(transport), plan_(plan) {}

    void begin(const Error& mine, Remark remark, const StoredReport& stored,
               const std::optional<AccessTimes>& times) override {
        agreement_ = Agreement(mine, remark, times);
        reports_ = StoredReports(stored);
    }
    Result<Step> step() override {
        if (!agreed_) {
            const auto over = agreement_.step(transport_);
            if (!over || *over != Step::done) return over;
            agreed_ = true;
        }
        if (!reports()) return Step::done;
        return reports_.step(transport_);
    }
    Activity activity() const override {
        return agreed_ ? Activity::reporting : Activity::agreeing;
    }
    const Error& error() const override { return agreement_.error(); }
    bool vetoed() const override { return agreement_.vetoed(); }
    bool goes_on() const override { return agreement_.goes_on(); }
    std::uint64_t nanoseconds() const override { return agreement_.nanoseconds(); }
    Bytes stored_bytes(const Access& access, Extent mine) const override {
        return reports_.stored_bytes(plan_, access, mine);
    }

  private:
    [[nodiscard]] bool reports() const {
        return !vetoed() && error().kind != ErrorKind::none &&
               plan_.direction == Direction::write && plan_.method->aggregated();
    }

    Transport& transport_;
    const Plan& plan_;
    bool agreed_ = false;
    Agreement agreement_;
    StoredReports reports_;
};

/// An aggregator's report to a rank. If nothing failed, `failed` is 0 and only this word is sent.
struct AggregatorReport {
    std::uint64_t failed = 0;
    Error error;
    StoredReport stored;
};

/// Completes a sparse access: the aggregators that share an edge with this rank report to it.
class ReportedCompletion final : public AccessCompletion {
  public:
    ReportedCompletion(const RunContext& context, const Plan& plan, unsigned number);

    void begin(const Error& mine, Remark remark, const StoredReport& stored,
               const std::optional<AccessTimes>& times) override;
    Result<Step> step() override;
    Activity activity() const override { return Activity::agreeing; }
    const Error& error() const override { return worst_; }
    Bytes stored_bytes(const Access& access, Extent mine) const override;

  private:
    [[nodiscard]] Rank rank() const { return transport_.topology().rank; }
    void start(Result<Ticket> ticket);
    void find_worst();

    Transport& transport_;
    const Plan& plan_;
    Stats& stats_;
    Tag tag_;
    int own_;                             ///< this rank's index among the aggregators, or -1
    std::vector<int> by_;                 ///< aggregators that report to this rank
    std::vector<AggregatorReport> told_;  ///< reports of the aggregators in by_, in the same order
    AggregatorReport mine_;               ///< this rank's report to the ranks of its edges
    std::vector<Ticket> tickets_;         ///< outstanding messages in both directions
    Error lost_;  ///< the first transport error in start(); step() returns it
    Error worst_;
};

/// Posts the receives before any report is sent, so that every report can be delivered at once,
/// whatever its receiver waits for.
ReportedCompletion::ReportedCompletion(const RunContext& context, const Plan& plan, unsigned number)
    : transport_(context.file.transport),
      plan_(plan),
      stats_(context.file.stats),
      tag_(roundless_tag_of(number, MessageKind::ended)),
      own_(plan.aggregator_index(transport_.topology().rank)),
      by_(aggregators_of_edges(plan, transport_.topology().rank)),
      told_(by_.size()) {
    for (std::size_t i = 0; i < by_.size(); ++i) {
        const Rank from = plan_.aggregators[static_cast<std::size_t>(by_[i])];
        start(transport_.receive(from, tag_, std::as_writable_bytes(std::span(&told_[i], 1))));
    }
}

void ReportedCompletion::start(Result<Ticket> ticket) {
    if (ticket) {
        tickets_.push_back(*ticket);
    } else if (lost_.kind == ErrorKind::none) {
        lost_ = ticket.error();
    }
}

void ReportedCompletion::begin(const Error& mine, Remark, const StoredReport& stored,
                               const std::optional<AccessTimes>&) {
    mine_ = {key_of(mine, rank()), mine, stored};
    if (own_ < 0) return;
    auto message = std::as_bytes(std::span(&mine_, 1));
    if (mine_.failed == 0) message = message.first(sizeof mine_.failed);
    for (const Rank to : ranks_of_edges(plan_, own_)) {
        start(transport_.send(to, tag_, message));
        stats_.count_message(message.size(), transport_.topology().on_other_switch(to));
    }
}

Result<Step> ReportedCompletion::step() {
    if (lost_.kind != ErrorKind::none) return lost_;
    for (std::size_t i = 0; i < tickets_.size();) {
        const auto completion = transport_.test(tickets_[i]);
        if (!completion) return completion.error();
        if (!completion->done) {
            ++i;
            continue;
        }
        tickets_[i] = tickets_.back();
        tickets_.pop_back();
    }
    if (!tickets_.empty()) return Step::idle;
    find_worst();
    return Step::done;
}

void ReportedCompletion::find_worst() {
    const AggregatorReport* worst = &mine_;
    for (const AggregatorReport& one : told_) {
        if (one.failed > worst->failed) worst = &one;
    }
    worst_ = worst->error;
}

/// Returns the stored bytes. Aggregators that share no edge with this rank have none of its data.
Bytes ReportedCompletion::stored_bytes(const Access& access, Extent mine) const {
    std::vector<StoredReport> of_aggregators(plan_.aggregators.size());
    if (own_ >= 0) of_aggregators[static_cast<std::size_t>(own_)] = mine_.stored;
    for (std::size_t i = 0; i < by_.size(); ++i)
        of_aggregators[static_cast<std::size_t>(by_[i])] = told_[i].stored;
    return oratorio::stored_bytes(plan_, access, mine, of_aggregators);
}

}  // namespace

std::unique_ptr<AccessCompletion> make_access_completion(const RunContext& context,
                                                         const Plan& plan, unsigned number) {
    if (plan.ending() == Ending::reported)
        return std::make_unique<ReportedCompletion>(context, plan, number);
    return std::make_unique<AgreedCompletion>(context.file.transport, plan);
}

}  // namespace oratorio
