#include "exchange/exchange.hpp"

#include "plan/methods.hpp"

namespace oratorio {

std::unique_ptr<Exchange> make_exchange(const ExchangeContext& context) {
    switch (context.plan.method->exchange) {
        case ExchangeKind::shared:
        case ExchangeKind::shared_list:
            return make_shared_exchange(context);
        case ExchangeKind::direct:
            return make_direct_exchange(context);
        case ExchangeKind::none:  // the rank is its own aggregator
        case ExchangeKind::peer:
            break;
    }
    return make_peer_exchange(context);
}

}  // namespace oratorio
