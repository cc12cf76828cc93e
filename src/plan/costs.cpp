// SPDX-License-Identifier: BSD-3-Clause
#include "plan/costs.hpp"

#include <algorithm>
#include <charconv>

#include "base/decimal.hpp"
#include "base/string_util.hpp"

namespace oratorio {

namespace {

bool set(Costs& costs, std::string_view name, double value) {
#define COST(known, memory, disk, server, doc)      \
    if (name == #known) {                           \
        if (value == 0 && memory > 0) return false; \
        costs.known = value;                        \
        return true;                                \
    }
#include "plan/costs.def"
#undef COST
    return false;
}

}  // namespace

Costs built_in_costs(Storage storage) {
    Costs costs;
    if (storage == Storage::memory) return costs;
    const bool asks_server = storage == Storage::server;
#define COST(name, memory, disk, server, doc) costs.name = asks_server ? double(server) : disk;
#include "plan/costs.def"
#undef COST
    return costs;
}

Costs on_one_machine(Costs costs) {
    costs.far_message = costs.beside_message;
    costs.far_byte = costs.beside_byte;
    return costs;
}

Costs parse_costs(std::string_view text, Costs costs, std::vector<std::string>& warnings) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const std::size_t space = std::min(line.find_first_of(" \t="), line.size());
        std::string_view number = trimmed(line.substr(space));
        if (number.starts_with('=')) number = trimmed(number.substr(1));
        double value = 0;
        const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
        const bool good = read.ec == std::errc() && read.ptr == number.data() + number.size() &&
                          value >= 0 && value <= 1e12;
        if (!good || !set(costs, line.substr(0, space), value))
            warnings.push_back("costs: ignoring a line without a known name and a valid number: " +
                               std::string(line));
    }
    return costs;
}

std::string to_text(const Costs& costs) {
    constexpr std::size_t kName = 18;    // one more than the longest name
    constexpr std::size_t kNumber = 12;  // two more than the longest number
    std::string text;
    const auto add = [&](std::string name, double value, const char* doc) {
        const std::string number = general_text(value, 4);
        name.resize(kName + kNumber - number.size(), ' ');
        text.append(name).append(number).append("  # ").append(doc).append("\n");
    };
#define COST(name, memory, disk, server, doc) add(#name, costs.name, doc);
#include "plan/costs.def"
#undef COST
    return text;
}

}  // namespace oratorio
