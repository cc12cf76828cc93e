// SPDX-License-Identifier: BSD-3-Clause
#include "engine/late_agreement.hpp"

namespace oratorio {

Error after_failed_read(const Error& failed) {
    return Error::make(failed.kind,
                       "nothing was done: an earlier collective read failed on that rank")
        .on(failed.rank);
}

void LateAgreement::begin(const FileContext& file, const ReadEnd& mine) {
    agreement_ = Agreement(mine.failure, mine.mismatched ? Remark::more : Remark::none, mine.times);
    agreement_.ask_whether_any(mine.failure.kind == ErrorKind::none);
    trial_ = mine.trial;
    pending_ = true;
    (void)step(file);
}

Step LateAgreement::step(const FileContext& file) {
    if (!pending_) return Step::done;
    const auto over = agreement_.step(file.transport);
    if (over && *over != Step::done) return Step::idle;
    pending_ = false;
    if (over) {
        end(file);
    } else {
        failure_ = over.error();
    }
    return Step::done;
}

void LateAgreement::end(const FileContext& file) {
    if (agreement_.error().kind != ErrorKind::none) {
        if (agreement_.any()) failure_ = agreement_.error();  // else every rank has failed
    } else if (agreement_.goes_on()) {  // some rank's access did not match the kept plan
        file.plans.distrust(Direction::read);
    } else if (trial_ != nullptr) {
        file.tuning.record(*trial_, agreement_.nanoseconds());
    }
    trial_.reset();
}

}  // namespace oratorio
