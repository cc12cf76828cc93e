#include "run/extension.hpp"

#include <span>

#include "store/store.hpp"

namespace oratorio {

namespace {

Error lengthen(Store* store, Offset length) {
    if (store == nullptr) return Error::make(ErrorKind::io, "the file isn't open on this rank");
    const auto last = store->map({length - 1, length}, Direction::write, Populate::no);
    return last ? Error{} : last.error();
}

}  // namespace

Result<bool> Extension::start(const RunContext& context, Phase next) {
    const auto started = context.transport.reduce(std::span(&told_, 1), ReduceOp::max);
    if (!started) return started.error();
    ticket_ = *started;
    phase_ = next;
    return false;
}

Result<bool> Extension::step(const RunContext& context, Offset end) {
    if (phase_ == Phase::idle) {
        told_ = static_cast<std::uint64_t>(end);
        return start(context, Phase::measuring);
    }
    const auto completion = context.transport.test(ticket_);
    if (!completion) return completion.error();
    if (!completion->done) return false;
    if (phase_ == Phase::extending) {
        failed_ = told_ != 0;
        return true;
    }
    const auto length = static_cast<Offset>(told_);
    const Rank rank = context.transport.topology().rank;
    if (rank == 0 && length > 0) error_ = lengthen(context.store, length).on(rank);
    told_ = error_.kind != ErrorKind::none ? 1 : 0;
    return start(context, Phase::extending);
}

}  // namespace oratorio
