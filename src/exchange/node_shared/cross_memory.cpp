// SPDX-License-Identifier: BSD-3-Clause
// Exchange in which aggregators access the memory of the other ranks of the node (Hastings &
// Choudhary 2006, "collective shared data"): each rank publishes where its data lies and waits
// until the aggregators have moved it. Cross-memory attach replaces the paper's shared address
// space.
#include <algorithm>
#include <map>

#include "exchange/node_shared/remote_data.hpp"
#include "type/shape_codec.hpp"

namespace oratorio {

namespace {

class CrossMemoryExchange final : public Exchange {
  public:
    explicit CrossMemoryExchange(const ExchangeContext& context);

    void expect(std::int64_t) override {}
    std::optional<RoundContents> contents(std::int64_t round) const override;
    void open(int, std::int64_t round, const RoundBuffer& buffer, Offset valid_until) override;
    bool close_if_served(std::int64_t round, Bytes& held) override;
    Result<Step> step() override;
    ExchangeProgress progress() const override;
    Doorbell* doorbell() const override { return &node_.doorbell(rank_); }

  private:
    struct Open {
        RoundBuffer buffer;
        Offset valid_until = 0;
        bool served = false;
        Bytes bytes = 0;
    };
    [[nodiscard]] std::uint64_t key() const {
        return static_cast<std::uint64_t>(context_.sequence) + 1;
    }
    void publish();
    void end_of_rounds();
    [[nodiscard]] bool wanted(std::int64_t round) const;
    [[nodiscard]] bool all_ready(std::int64_t round) const;
    RemoteData* data_of(std::size_t participant) const;
    void serve(std::int64_t round, Open& open);

    ExchangeContext context_;
    const Plan& plan_;
    const NodeMemory& node_;
    Rank rank_;
    int index_;
    std::vector<std::byte> layouts_;
    std::int64_t rounds_left_ = 0;  ///< rounds of this aggregator that aren't closed yet
    std::map<std::int64_t, Open> open_;
    mutable std::map<std::size_t, RemoteData> data_;  ///< key: participant; fetched on first use
    mutable Error failed_;
    mutable bool differs_ = false;
};

CrossMemoryExchange::CrossMemoryExchange(const ExchangeContext& context)
    : context_(context),
      plan_(context.plan),
      node_(*context.node),
      rank_(context.transport.topology().rank),
      index_(plan_.aggregator_index(rank_)) {
    publish();
    if (index_ < 0) return;
    for (std::int64_t round = 0; round < plan_.rounds; ++round) rounds_left_ += wanted(round);
    if (rounds_left_ == 0) end_of_rounds();
}

/// Publishes this rank's data. The encoded layouts live as long as the exchange, so that the
/// aggregators can fetch them.
void CrossMemoryExchange::publish() {
    const Access& access = context_.access;
    encode(access.file, layouts_);
    const Bytes file_bytes = std::ssize(layouts_);
    encode(access.memory, layouts_);
    RankMailbox& mailbox = node_.mailbox(rank_);
    mailbox.layouts = reinterpret_cast<std::uintptr_t>(layouts_.data());
    mailbox.file_layout_bytes = file_bytes;
    mailbox.memory_layout_bytes = std::ssize(layouts_) - file_bytes;
    mailbox.buffer = reinterpret_cast<std::uintptr_t>(access.buffer);
    mailbox.from = access.from;
    mailbox.bytes = access.bytes();
    mailbox.plan_begin = plan_.hull.begin;
    mailbox.received = 0;
    mailbox.ready = key();
    for (const Rank aggregator : plan_.aggregators) ring(node_.doorbell(aggregator));
}

void CrossMemoryExchange::end_of_rounds() {
    node_.mailbox(rank_).served = key();
    for (std::size_t i = 0; i < plan_.graph.size(); ++i)
        ring(node_.doorbell(plan_.graph.participant(i).rank));
}

bool CrossMemoryExchange::wanted(std::int64_t round) const {
    return plan_.has_participants(index_, round);
}

bool CrossMemoryExchange::all_ready(std::int64_t round) const {
    return plan_.each_participant(index_, round, [&](std::size_t i) {
        return node_.mailbox(plan_.graph.participant(i).rank).ready == key();
    });
}

/// Returns the participant's data. Returns null, and records why, if the data is not accessible or
/// the participant follows a different plan.
RemoteData* CrossMemoryExchange::data_of(std::size_t participant) const {
    const auto found = data_.find(participant);
    if (found != data_.end()) return &found->second;
    auto data = RemoteData::open(node_, plan_.graph.participant(participant).rank);
    if (!data) {
        if (failed_.kind == ErrorKind::none) failed_ = data.error();
        return nullptr;
    }
    if (data->plan_begin() != plan_.hull.begin) {
        differs_ = true;
        return nullptr;
    }
    return &data_.emplace(participant, std::move(*data)).first->second;
}

std::optional<RoundContents> CrossMemoryExchange::contents(std::int64_t round) const {
    if (!all_ready(round)) return std::nullopt;
    const Region region = plan_.region(index_, round);
    RoundContents all;
    plan_.each_participant(index_, round, [&](std::size_t i) {
        RemoteData* const data = data_of(i);
        if (data != nullptr) all.add(data->contents(region));
        return true;
    });
    return all;
}

void CrossMemoryExchange::open(int, std::int64_t round, const RoundBuffer& buffer,
                               Offset valid_until) {
    open_[round] = {buffer, valid_until, false, 0};
}

bool CrossMemoryExchange::close_if_served(std::int64_t round, Bytes& held) {
    const auto found = open_.find(round);
    if (found == open_.end() || !found->second.served) return false;
    held = found->second.bytes;
    open_.erase(found);
    if (--rounds_left_ == 0) end_of_rounds();
    return true;
}

Result<Step> CrossMemoryExchange::step() {
    bool moved = false;
    for (auto& [round, open] : open_) {
        if (open.served || !all_ready(round)) continue;
        serve(round, open);
        moved = true;
    }
    return progressed_if(moved);
}

void CrossMemoryExchange::serve(std::int64_t round, Open& open) {
    const Timing timing(&context_.stats, &Stats::copy_time);
    const Region region = plan_.region(index_, round);
    plan_.each_participant(index_, round, [&](std::size_t i) {
        RemoteData* const data = data_of(i);
        if (data == nullptr) return true;
        const auto moved = data->move(region, open.buffer, plan_.direction, open.valid_until);
        if (!moved) {
            if (failed_.kind == ErrorKind::none) failed_ = moved.error();
            return true;
        }
        const Rank rank = plan_.graph.participant(i).rank;
        const bool is_own = rank == rank_;
        open.bytes += *moved;
        (is_own ? context_.stats.bytes_shared : context_.stats.bytes_reached) +=
            static_cast<std::uint64_t>(*moved);
        node_.mailbox(rank).received += *moved;
        return true;
    });
    open.served = true;
}

ExchangeProgress CrossMemoryExchange::progress() const {
    const bool finished =
        std::all_of(plan_.aggregators.begin(), plan_.aggregators.end(),
                    [&](Rank aggregator) { return node_.mailbox(aggregator).served == key(); });
    return {finished, node_.mailbox(rank_).received, differs_, failed_};
}

}  // namespace

std::unique_ptr<Exchange> make_cross_memory_exchange(const ExchangeContext& context) {
    return std::make_unique<CrossMemoryExchange>(context);
}

}  // namespace oratorio
