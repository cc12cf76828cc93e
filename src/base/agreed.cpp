// The end of every collective: one reduction tells all ranks whether, and on whose side, it failed.
#include "base/agreed.hpp"

namespace oratorio {

// The kind in the high half, so that the worst wins; the complement of the rank in the low half, so
// that among equals the lowest rank does. Zero is success: no reduction of a failure gives it.
std::uint64_t key_of(const Error& error, Rank rank) {
    if (error.kind == ErrorKind::none) return 0;
    return static_cast<std::uint64_t>(error.kind) << 32 | ~static_cast<std::uint32_t>(rank);
}

Rank owner_of(std::uint64_t key) {
    return static_cast<Rank>(~static_cast<std::uint32_t>(key));
}

Result<void> agree_on_error(Transport& transport, const Error& mine) {
    const Rank rank = transport.topology().rank;
    std::uint64_t worst = key_of(mine, rank);
    auto reduced = reduce(transport, std::span(&worst, 1), ReduceOp::max);
    if (!reduced) return reduced.error();
    if (worst == 0) return {};

    Error error = mine.rank < 0 ? mine.on(rank) : mine;
    auto told = broadcast(transport, owner_of(worst), std::as_writable_bytes(std::span(&error, 1)));
    if (!told) return told.error();
    return error;
}

}  // namespace oratorio
