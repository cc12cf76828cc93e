// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/messages/peer.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/two_layer/group_data.hpp"
#include "exchange/two_layer/window_data.hpp"

namespace oratorio {

namespace {

class PeerExchange final : public Exchange {
  public:
    /// `group` is the data of this rank's group if this rank is its local aggregator, else null.
    /// `lists`: see make_own_data.
    PeerExchange(const ExchangeContext& context, std::unique_ptr<DataPort> own,
                 std::unique_ptr<GroupSource> group, std::span<std::byte> lists)
        : own_(std::move(own)),
          group_(std::move(group)),
          context_{context.transport,
                   context.plan,
                   group_ ? *group_ : *own_,
                   context.stats,
                   context.sequence,
                   lists,
                   {context.messages.subspan(lists.size()), context.plan.message_bytes}},
          aggregator_(context_),
          participant_(context_) {
        const Layers& layers = context.plan.layers();
        const bool spoken_for = layers.local_aggregator_of(context_.rank()) != context_.rank();
        if (layers.in_windows() && spoken_for)
            member_ = std::make_unique<WindowMember>(context, *own_);
    }

    void expect(std::int64_t round) override { aggregator_.expect(round); }
    std::optional<RoundContents> contents(std::int64_t round) const override {
        return aggregator_.contents(round);
    }
    void open(int, std::int64_t round, const RoundBuffer& buffer, Offset valid_until) override {
        aggregator_.open(round, buffer, valid_until);
    }
    bool close_if_served(std::int64_t round, Bytes& held) override {
        return aggregator_.close_if_served(round, held);
    }
    Result<Step> step() override {
        const auto gathered = group_ ? group_->step() : Result<Step>(Step::idle);
        if (!gathered) return gathered;
        const auto served = aggregator_.step();
        if (!served) return served.error();
        const auto walked = participant_.step(aggregator_);
        if (!walked) return walked.error();
        const bool copied = member_ && member_->step();
        return progressed_if(copied || any_progressed({*gathered, *served, *walked}));
    }
    ExchangeProgress progress() const override {
        const bool finished = participant_.finished() && aggregator_.finished() &&
                              (!group_ || group_->finished()) && (!member_ || member_->finished());
        const bool differs = aggregator_.differs() || (group_ && group_->differs()) ||
                             (member_ && member_->differs());
        const Bytes received = member_ ? member_->received() : participant_.received();
        return {finished, received, differs, failed()};
    }

  private:
    [[nodiscard]] const Error& failed() const {
        if (group_ && group_->failed().kind != ErrorKind::none) return group_->failed();
        return aggregator_.failed().kind != ErrorKind::none ? aggregator_.failed()
                                                            : participant_.failed();
    }

    std::unique_ptr<DataPort> own_;
    std::unique_ptr<GroupSource> group_;
    std::unique_ptr<WindowMember> member_;  ///< set if this rank's group shares windows and this
                                            ///< rank isn't its local aggregator
    PeerContext context_;
    AggregatorSide aggregator_;
    ParticipantSide participant_;
};

}  // namespace

MessageView view_message(std::span<std::byte> buffer, bool with_payload) {
    MessageView view;
    std::memcpy(&view.head, buffer.data(), sizeof view.head);
    const auto rest = buffer.subspan(sizeof view.head);
    // The conversion turns a negative length into a very large one.
    const auto table = static_cast<std::size_t>(view.head.table_bytes);
    const auto payload = with_payload ? static_cast<std::size_t>(view.head.payload) : 0;
    view.damaged = table > rest.size() || payload > rest.size() - table;
    if (view.damaged) return view;
    view.table = rest.first(table);
    view.payload = rest.subspan(table, payload);
    return view;
}

Error damaged_message(std::int64_t round) {
    return Error::make(
               ErrorKind::internal,
               "a message between two ranks is damaged; check that all ranks load the same build "
               "of Oratorio")
        .in_round(round);
}

std::unique_ptr<Exchange> make_peer_exchange(const ExchangeContext& context) {
    const Plan& plan = context.plan;
    const Rank rank = context.transport.topology().rank;
    const bool copies = plan.aggregator_index(rank) >= 0 || plan.layers().in_windows();
    auto own = make_own_data(context, copies);
    std::unique_ptr<GroupSource> group;
    if (GroupData::needed(plan, rank)) {
        if (plan.layers().in_windows()) {
            group = std::make_unique<WindowData>(context, *own);
        } else {
            group = std::make_unique<GroupData>(context, *own, context.group);
        }
    }
    return std::make_unique<PeerExchange>(context, std::move(own), std::move(group),
                                          std::span<std::byte>());
}

std::unique_ptr<Exchange> make_gathered_exchange(const ExchangeContext& context) {
    // `messages` is empty on a rank that could not reserve memory; such a rank takes part without
    // data.
    const auto each = static_cast<std::size_t>(context.plan.message_bytes);
    const auto lists = context.messages.first(std::min(each, context.messages.size()));
    const bool copies = context.plan.aggregator_index(context.transport.topology().rank) >= 0;
    return std::make_unique<PeerExchange>(context, make_own_data(context, copies, lists), nullptr,
                                          lists);
}

}  // namespace oratorio
