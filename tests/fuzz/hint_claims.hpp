// SPDX-License-Identifier: BSD-3-Clause
// try_hints: claims that hold for any hints.
#pragma once

#include <string>
#include <vector>

#include "fuzz.hpp"
#include "hints/hint_table.hpp"
#include "hints/hints.hpp"

namespace oratorio::test {

/// Claims that hints survive encoding and decoding, and that reported values can be set again.
inline void try_hints(const HintMap& given) {
    claim(decode_hints(encode_hints(given)) == given, "hints survive encoding and decoding");
    const HintMap report = report_hints(parse_hints(given, {}, Bytes{1} << 30).hints);
    HintMap told;
    for (const HintRow& row : hint_rows()) {
        const auto found = report.find(std::string(row.key));
        if (found != report.end() && found->second != row.initial) told.insert(*found);
    }
    const auto [hints, complaints] = parse_hints(told, {}, Bytes{1} << 30);
    const HintMap again = report_hints(hints);
    claim(complaints.empty(), "reported values can be set");
    for (const auto& [key, value] : told)
        claim(again.contains(key) && again.at(key) == value, "and they are reported again");
}

}  // namespace oratorio::test
