// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pre_extend.hpp"

#include <span>

#include "store/store.hpp"

namespace oratorio {

namespace {

Error lengthen(Store& store, Offset length) {
    const auto last = store.map({length - 1, length}, Direction::write, Populate::no);
    return last ? Error{} : last.error();
}

}  // namespace

Result<Step> PreExtend::step(const RunContext& context, Offset end) {
    if (phase_ == Phase::idle) {
        end_ = static_cast<std::uint64_t>(end);
        const auto started = context.file.transport.reduce(std::span(&end_, 1), ReduceOp::max);
        if (!started) return started.error();
        ticket_ = *started;
        phase_ = Phase::measuring;
        return Step::idle;
    }
    if (phase_ == Phase::measuring) {
        const auto completion = context.file.transport.test(ticket_);
        if (!completion) return completion.error();
        if (!completion->done) return Step::idle;
        const bool lengthens = context.file.transport.topology().rank == 0 && end_ > 0;
        const auto length = static_cast<Offset>(end_);
        extended_ = Agreement(lengthens ? lengthen(context.file.store, length) : Error{});
        phase_ = Phase::extending;
    }
    return extended_.step(context.file.transport);
}

}  // namespace oratorio
