// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bench {

namespace {

std::pair<std::string, std::string> split(const std::string& text, char at) {
    const std::size_t found = text.find(at);
    if (found == std::string::npos) throw std::invalid_argument("wrong option value: " + text);
    return {text.substr(0, found), text.substr(found + 1)};
}

Arm& arm_named(std::vector<Arm>& arms, const std::string& name) {
    const auto found =
        std::find_if(arms.begin(), arms.end(), [&](const Arm& arm) { return arm.name == name; });
    if (found == arms.end()) throw std::invalid_argument("no --arm adds the arm " + name);
    return *found;
}

void add_hint(std::vector<Arm>& arms, const std::string& text) {
    const auto [name, hint] = split(text, ':');
    arm_named(arms, name).hints.insert(split(hint, '='));
}

void set_passes_ahead(std::vector<Arm>& arms, const std::string& text) {
    const auto [name, passes] = split(text, '=');
    arm_named(arms, name).passes_ahead = std::stoi(passes);
}

bool* flag(Options& options, const std::string& word) {
    if (word == "--overwrite") return &options.overwrite;
    if (word == "--sync") return &options.sync;
    if (word == "--cold") return &options.cold;
    if (word == "--malloc") return &options.malloc;
    return nullptr;
}

void take(Options& options, const std::string& word, const std::string& value) {
    if (word == "--workload") {
        options.workload = value;
    } else if (word == "--param") {
        const auto [key, text] = split(value, '=');
        options.params.set(key, text);
    } else if (word == "--arm") {
        options.arms.push_back({value, {}, 0});
    } else if (word == "--hint") {
        add_hint(options.arms, value);
    } else if (word == "--ahead") {
        set_passes_ahead(options.arms, value);
    } else if (word == "--only") {
        options.directions = {value == "write" ? Direction::write : Direction::read};
    } else if (word == "--repeats") {
        options.repeats = std::stoi(value);
    } else if (word == "--dir") {
        options.dir = value;
    } else if (word == "--out") {
        options.out = value;
    } else {
        throw std::invalid_argument("unknown option: " + word);
    }
}

}  // namespace

Options parse_options(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (bool* const set = flag(options, word)) {
            *set = true;
        } else if (++i == count) {
            throw std::invalid_argument("option without a value: " + word);
        } else {
            take(options, word, words[i]);
        }
    }
    return options;
}

}  // namespace bench
