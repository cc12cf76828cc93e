// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/peer.hpp"

#include <cstring>

namespace oratorio {

namespace {

class PeerExchange final : public Exchange {
  public:
    PeerExchange(const ExchangeContext& context, std::unique_ptr<Runs> runs)
        : runs_(std::move(runs)),
          context_{
              context.transport, context.plan,     *runs_,
              context.stats,     context.sequence, {context.messages, context.plan.message_bytes}},
          aggregator_(context_),
          participant_(context_) {}

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
    Result<bool> step() override {
        const auto served = aggregator_.step();
        if (!served) return served.error();
        const auto walked = participant_.step(aggregator_);
        if (!walked) return walked.error();
        return *served || *walked;
    }
    Standing standing() const override {
        const bool served = aggregator_.failed().kind == ErrorKind::none;
        return {participant_.finished() && aggregator_.finished(), participant_.received(),
                aggregator_.differs(), served ? participant_.failed() : aggregator_.failed()};
    }

  private:
    std::unique_ptr<Runs> runs_;
    PeerContext context_;
    AggregatorSide aggregator_;
    ParticipantSide participant_;
};

}  // namespace

MessageView view_message(std::span<std::byte> buffer, bool with_payload) {
    MessageView view;
    std::memcpy(&view.head, buffer.data(), sizeof view.head);
    const auto rest = buffer.subspan(sizeof view.head);
    // A negative length is a very large one.
    const auto table = static_cast<std::size_t>(view.head.table_bytes);
    const auto payload = with_payload ? static_cast<std::size_t>(view.head.payload) : 0;
    view.damaged = table > rest.size() || payload > rest.size() - table;
    if (view.damaged) return view;
    view.table = rest.first(table);
    view.payload = rest.subspan(table, payload);
    return view;
}

Error damaged_message(std::int64_t round) {
    return Error::make(ErrorKind::internal,
                       "a message between two ranks came damaged; do all load the same build?")
        .in_round(round);
}

std::unique_ptr<Exchange> make_peer_exchange(const ExchangeContext& context) {
    const bool serves = context.plan.aggregator_index(context.transport.topology().rank) >= 0;
    return std::make_unique<PeerExchange>(context, make_own_runs(context, serves));
}

}  // namespace oratorio
