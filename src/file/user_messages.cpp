// SPDX-License-Identifier: BSD-3-Clause
#include "file/user_messages.hpp"

#include <algorithm>
#include <vector>

namespace oratorio {

UserMessages::Done& UserMessages::done_of(const std::string& path, const Explanation& explanation) {
    if (const auto known = done_.find(explanation.fingerprint); known != done_.end())
        return known->second;
    if (done_.size() == kKept) tell_repeated(path);
    return done_.emplace(explanation.fingerprint, Done{.number = ++numbers_}).first->second;
}

void UserMessages::tell_plan(const std::string& path, const Explanation& explanation) {
    if (!asks_all() || knows(explanation.fingerprint)) return;
    const Done& done = done_of(path, explanation);
    say(path + ": " + explanation.full + "  number       " + std::to_string(done.number) +
        " of this file\n");
}

void UserMessages::tell_end(const std::string& path, const Explanation& explanation,
                            const ExplainedEnd& end) {
    Done& done = done_of(path, explanation);
    if (std::exchange(done.told, true)) return done.again.add(end);
    std::string text = path + ": " + end_text(end, done.number);
    if (!asks_all()) {
        text += explanation.brief;
    } else if (!explanation.advice.empty()) {
        text += "  faster       " + explanation.advice + "\n";
    }
    say(text, "access", access_members(path, done.number, end, explanation));
}

void UserMessages::tell_repeated(const std::string& path) {
    std::vector<Done> all;
    for (const auto& [fingerprint, done] : done_)
        if (done.again.times > 0) all.push_back(done);
    std::ranges::sort(all, {}, &Done::number);
    for (const Done& done : all)
        say(path + ": " + repeated_text(done.number, done.again), "repeated",
            repeated_members(path, done.number, done.again));
    done_.clear();
}

}  // namespace oratorio
