// SPDX-License-Identifier: BSD-3-Clause
// Values of hints. In the input, a hint is the number of its key, the value's length, and that many
// bytes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hint_claims.hpp"

namespace oratorio::test {
namespace {

std::vector<std::string_view> all_keys() {
    std::vector<std::string_view> keys;
    for (const HintRow& row : hint_rows()) keys.push_back(row.key);
    for (const HintMeaning& meaning : hint_meanings()) keys.push_back(meaning.key);
    for (const std::string_view key : accepted_hints()) keys.push_back(key);
    return keys;
}

HintMap hints_in(std::span<const std::uint8_t> input) {
    static const auto keys = all_keys();
    HintMap hints;
    while (!input.empty()) {
        const std::string key(keys[take_byte(input) % keys.size()]);
        const std::size_t length = take_byte(input);
        const auto value = input.first(std::min(length, input.size()));
        hints[key] = std::string(value.begin(), value.end());
        input = input.subspan(value.size());
    }
    return hints;
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio::test;
    try_hints(hints_in(std::span(data, size)));
    return 0;
}
