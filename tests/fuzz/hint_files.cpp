// SPDX-License-Identifier: BSD-3-Clause
// Hint files, environment variables that hold several hints, and variables of other
// implementations. The first byte of the input selects one of them.
#include <string>

#include "hint_claims.hpp"
#include "hints/site_settings.hpp"

namespace oratorio::test {
namespace {

/// Returns the hints of all variables if each has this value.
std::vector<SiteHint> site_hints_of(std::string_view value) {
    std::vector<EnvironmentVariable> variables;
    for (const SiteVariable& row : site_variables()) variables.push_back({row.name, value});
    return read_site_settings(variables).hints;
}

HintSources sources_of(std::span<const std::uint8_t> input) {
    const unsigned selector = take_byte(input);
    const unsigned which = selector == 255 ? 3 : selector % 3;
    const std::string text(input.begin(), input.end());
    HintSources sources;
    if (which == 0) sources.romio_hints_text = text;
    if (which == 1) sources.mpich_mpiio_hints = text;
    if (which == 2) sources.oratorio_hints = text;
    if (which == 3) sources.site_hints = site_hints_of(text);
    return sources;
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio;
    using namespace oratorio::test;
    try_hints(merge_hints(sources_of(std::span(data, size)), {}, "/data/file.nc"));
    return 0;
}
