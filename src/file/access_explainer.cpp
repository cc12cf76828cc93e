// SPDX-License-Identifier: BSD-3-Clause
#include "file/access_explainer.hpp"

#include <utility>

#include "plan/brief.hpp"

namespace oratorio {

/// Returns the explanation of a plan, with only the fingerprint if an access with that fingerprint
/// was explained before.
Explanation AccessExplainer::explanation_of(const Plan& plan) const {
    const std::string& representation = view_.representation;
    const bool converts = representation != "native" && representation != "internal";
    const std::string as =
        converts ? "  conversion   the file's data is in " + representation + "\n" : std::string();
    Explanation explanation{.fingerprint = fingerprint(plan) + as};
    if (messages_.knows(explanation.fingerprint)) return explanation;
    if (messages_.asks_all()) explanation.full = explain(plan) + as;
    explanation.brief = explain_briefly(plan) + as;
    explanation.advice = advice_on(plan);
    explanation.members = plan_members(plan, converts ? representation : std::string());
    return explanation;
}

void AccessExplainer::planned(const Plan& plan) {
    trace_.planned(plan);
    if (!messages_.explains()) return;
    const bool first = end_.bytes == 0;
    last_ = plan.all.bytes;
    end_.bytes += last_;
    if (!first) return;
    end_.direction = plan.direction;
    end_.collective = plan.collective;
    end_.ranks = plan.all.ranks;
    explanation_ = explanation_of(plan);
    messages_.tell_plan(file_.path, explanation_);
}

void AccessExplainer::dropped() {
    end_.bytes -= std::exchange(last_, 0);
}

void AccessExplainer::ended(const Outcome& outcome) {
    if (explanation_.fingerprint.empty()) return;
    end_.started = call_.started;
    tell_end(outcome);
}

void AccessExplainer::moved_at_once(Direction direction, bool collective, const Outcome& outcome) {
    const std::string why = "one piece of the file in one call; no plan is needed";
    const std::string kind = kind_text(direction, collective);
    end_ = {.direction = direction, .collective = collective, .bytes = call_.asked, .ranks = 1};
    explanation_ = {.fingerprint = kind + ": " + why,
                    .full = kind + ": " + why + "\n",
                    .brief = "  method       none: " + why + "\n",
                    .members = unplanned_members(direction, collective, why)};
    messages_.tell_plan(file_.path, explanation_);
    tell_end(outcome);
}

void AccessExplainer::tell_end(const Outcome& outcome) {
    constexpr double kNano = 1e-9;
    end_.seconds = kNano * static_cast<double>(Recorder::now() - call_.begin);
    end_.cut_short = outcome.bytes < call_.asked;
    end_.error = outcome.error;
    messages_.tell_end(file_.path, explanation_, end_);
}

}  // namespace oratorio
