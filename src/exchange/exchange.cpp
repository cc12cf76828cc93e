// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/exchange.hpp"

#include <array>

#include "base/complete_table.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

struct Maker {
    ExchangeKind kind;
    std::unique_ptr<Exchange> (*make)(const ExchangeContext& context);
};

// Methods without exchange use the peer exchange too: each rank is its own aggregator, so no
// message is sent.
constexpr std::array kMakers{
    Maker{ExchangeKind::none, make_peer_exchange},
    Maker{ExchangeKind::peer, make_peer_exchange},
    Maker{ExchangeKind::gathered, make_gathered_exchange},
    Maker{ExchangeKind::shared, make_shared_exchange},
    Maker{ExchangeKind::cross_memory, make_cross_memory_exchange},
};
static_assert(is_complete(kMakers));

}  // namespace

std::unique_ptr<Exchange> make_exchange(const ExchangeContext& context) {
    return row_of(kMakers, context.plan.method->exchange).make(context);
}

}  // namespace oratorio
