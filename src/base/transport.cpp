// The blocking forms of the transport's operations.
#include "base/transport.hpp"

namespace oratorio {
namespace {

Result<void> finish(Transport& transport, const Result<Ticket>& started) {
    if (!started) return started.error();
    auto completion = wait(transport, *started);
    if (!completion) return completion.error();
    return {};
}

}  // namespace

Result<Completion> wait(Transport& transport, Ticket ticket) {
    for (;;) {
        auto completion = transport.test(ticket);
        if (!completion || completion->done) return completion;
        transport.idle();
    }
}

Result<void> reduce(Transport& transport, std::span<std::uint64_t> values, ReduceOp op) {
    return finish(transport, transport.reduce(values, op));
}

Result<void> broadcast(Transport& transport, Rank root, std::span<std::byte> data) {
    return finish(transport, transport.broadcast(root, data));
}

Result<void> gather(Transport& transport, std::span<const std::byte> mine,
                    std::span<std::byte> all) {
    return finish(transport, transport.gather(mine, all));
}

}  // namespace oratorio
