// SPDX-License-Identifier: BSD-3-Clause
#include "file/user_messages.hpp"

#include <algorithm>
#include <vector>

namespace oratorio {

void UserMessages::say_done(const std::string& path, const Access& access) {
    if (!narrate_ && !record_) return;
    if (const auto known = done_.find(access.fingerprint); known != done_.end()) {
        ++known->second.again;
        return;
    }
    if (done_.size() == kKept) tell_repeated(path);
    done_.emplace(access.fingerprint, Done{++numbers_, 0});
    say(path + ": " + access.text + "  number       " + std::to_string(numbers_) +
            " of this file\n",
        "access", access_members(path, numbers_, access.members));
}

void UserMessages::tell_repeated(const std::string& path) {
    std::vector<Done> all;
    for (const auto& [fingerprint, done] : done_)
        if (done.again > 0) all.push_back(done);
    std::ranges::sort(all, {}, &Done::number);
    for (const Done& done : all)
        say(path + ": number " + std::to_string(done.number) + " was repeated " +
                std::to_string(done.again) + (done.again == 1 ? " time" : " times"),
            "repeated", repeated_members(path, done.number, done.again));
    done_.clear();
}

}  // namespace oratorio
