// The blocking forms of the transport's operations.
#include "base/transport.hpp"

#include <numeric>
#include <vector>

namespace oratorio {
namespace {

Result<void> finish(Transport& transport, const Result<Ticket>& started) {
    if (!started) return started.error();
    auto completion = wait(transport, *started);
    if (!completion) return completion.error();
    return {};
}

}  // namespace

Result<std::int64_t> Transport::claim(std::int64_t by) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(topology().size));
    if (auto told = oratorio::gather(*this, std::as_bytes(std::span(&by, 1)),
                                     std::as_writable_bytes(std::span(all)));
        !told)
        return told.error();
    struct Claimed {
        std::int64_t first = 0;
        ErrorKind failed = ErrorKind::none;
    } claimed;
    if (topology().rank == 0) {
        const auto before = fetch_add(std::reduce(all.begin(), all.end()));
        if (before) claimed.first = *before;
        if (!before) claimed.failed = before.error().kind;
    }
    if (auto told = oratorio::broadcast(*this, 0, std::as_writable_bytes(std::span(&claimed, 1)));
        !told)
        return told.error();
    if (claimed.failed != ErrorKind::none)
        return Error::make(claimed.failed, "the number that the ranks share can't be moved");
    return std::reduce(all.begin(), all.begin() + topology().rank, claimed.first);
}

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
