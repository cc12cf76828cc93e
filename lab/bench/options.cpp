// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <stdexcept>
#include <utility>

namespace bench {

namespace {

std::pair<std::string, std::string> split(const std::string& text, char at) {
    const std::size_t found = text.find(at);
    if (found == std::string::npos) throw std::invalid_argument("wrong option value: " + text);
    return {text.substr(0, found), text.substr(found + 1)};
}

void add_hint(std::vector<Arm>& arms, const std::string& text) {
    const auto [name, hint] = split(text, ':');
    for (Arm& arm : arms) {
        if (arm.name == name) {
            arm.hints.insert(split(hint, '='));
            return;
        }
    }
    throw std::invalid_argument("--hint names an arm that no --arm adds: " + text);
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
        options.arms.push_back({value, {}});
    } else if (word == "--hint") {
        add_hint(options.arms, value);
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
