// SPDX-License-Identifier: BSD-3-Clause
#include "file/access_explainer.hpp"

namespace oratorio {

void AccessExplainer::planned(const Plan& plan) {
    trace_.planned(plan);
    if (!messages_.explains()) return;
    const std::string& representation = view_.representation;
    const bool converts = representation != "native" && representation != "internal";
    const std::string as =
        converts ? "  conversion   the file has " + representation + "\n" : std::string();
    messages_.say_done(file_.path, {explain(plan) + as, fingerprint(plan) + as,
                                    plan_members(plan, converts ? representation : std::string())});
}

void AccessExplainer::explain_unplanned(Direction direction, bool collective) {
    const std::string why = "one piece of the file in one call; no plan is needed";
    const std::string text = std::string(collective ? "collective " : "independent ") +
                             name_of(direction) + ": " + why + "\n";
    messages_.say_done(file_.path, {text, text, unplanned_members(direction, collective, why)});
}

}  // namespace oratorio
