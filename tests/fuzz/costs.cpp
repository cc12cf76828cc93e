// SPDX-License-Identifier: BSD-3-Clause
// Cost files, which `oratorio calibrate` writes and users may edit.
#include "plan/costs.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio;
    using namespace oratorio::test;
    const std::string text(data, data + size);
    std::vector<std::string> warnings;
    const Costs costs = parse_costs(text, built_in_costs(Storage::memory), warnings);
    claim(parse_costs(text, costs, warnings) == costs, "costs are the same when read again");
    std::vector<std::string> complaints;
    static_cast<void>(parse_costs(to_text(costs), costs, complaints));
    claim(complaints.empty(), "written costs are read without a warning");
    return 0;
}
