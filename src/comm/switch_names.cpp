// SPDX-License-Identifier: BSD-3-Clause
#include "comm/switch_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/string_util.hpp"

namespace oratorio {

namespace {

constexpr std::string_view kDigits = "0123456789";

std::int64_t number_of(std::string_view digits) {
    std::int64_t number = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

/// Returns true if the digits are a number of a list "1-8,12". Numbers may be padded with zeros.
bool is_in_ranges(std::string_view digits, std::string_view ranges) {
    for (const std::string_view range : split(ranges, ",")) {
        const std::size_t dash = std::min(range.find('-'), range.size());
        const std::string_view low = range.substr(0, dash);
        const std::string_view high = dash < range.size() ? range.substr(dash + 1) : low;
        const bool padded_alike =
            digits.size() == low.size() || (digits.size() > low.size() && digits[0] != '0');
        const std::int64_t number = number_of(digits);
        if (padded_alike && number >= number_of(low) && number <= number_of(high)) return true;
    }
    return false;
}

/// Returns true if the host matches a pattern such as "n[1-8,12]" or "rack[1-2]n[0-3]".
bool is_one_of(std::string_view host, std::string_view pattern) {
    while (!pattern.empty()) {
        if (pattern[0] != '[') {
            if (host.empty() || host[0] != pattern[0]) return false;
            host.remove_prefix(1);
            pattern.remove_prefix(1);
            continue;
        }
        const std::size_t end = pattern.find(']');
        const std::string_view digits =
            host.substr(0, std::min(host.find_first_not_of(kDigits), host.size()));
        if (end == std::string_view::npos || digits.empty()) return false;
        if (!is_in_ranges(digits, pattern.substr(1, end - 1))) return false;
        host.remove_prefix(digits.size());
        pattern.remove_prefix(end + 1);
    }
    return host.empty();
}

/// Removes the first host pattern from a list, and returns the pattern. Commas within brackets
/// don't separate patterns.
std::string_view take_pattern(std::string_view& list) {
    std::size_t end = 0;
    for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end) {
        if (list[end] == '[') inside = true;
        if (list[end] == ']') inside = false;
    }
    const std::string_view pattern = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return pattern;
}

bool has_host(std::string_view list, std::string_view host) {
    const std::string_view short_name = host.substr(0, host.find('.'));
    while (!list.empty()) {
        const std::string_view pattern = take_pattern(list);
        if (is_one_of(host, pattern) || is_one_of(short_name, pattern)) return true;
    }
    return false;
}

/// Returns the switch of a line of the table; "" if the line doesn't list the host.
std::string_view switch_in(std::string_view line, std::string_view host) {
    std::string_view name;
    for (const std::string_view pair : split(line.substr(0, line.find('#')), " \t\r")) {
        const std::size_t equals = std::min(pair.find('='), pair.size() - 1);
        const std::string key = lower(pair.substr(0, equals));
        const std::string_view value = pair.substr(equals + 1);
        if (key == "switchname") name = value;
        if (key == "nodes" && has_host(value, host)) return name;
    }
    return {};
}

}  // namespace

std::string_view SwitchNames::switch_of(std::string_view host) const {
    if (table.empty()) {
        const std::size_t dot = address.rfind('.');
        return std::string_view(address).substr(0, dot == std::string::npos ? 0 : dot);
    }
    for (const std::string_view line : split(table, "\n"))
        if (const std::string_view name = switch_in(line, host); !name.empty()) return name;
    return {};
}

}  // namespace oratorio
