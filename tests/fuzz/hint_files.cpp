// SPDX-License-Identifier: BSD-3-Clause
// Hint files, and environment variables that hold several hints. The first byte of the input
// selects one of them.
#include <string>

#include "hint_claims.hpp"

namespace oratorio::test {
namespace {

HintSources sources_of(std::span<const std::uint8_t> input) {
    const unsigned which = take_byte(input) % 3;
    const std::string text(input.begin(), input.end());
    HintSources sources;
    if (which == 0) sources.romio_hints_text = text;
    if (which == 1) sources.mpich_mpiio_hints = text;
    if (which == 2) sources.oratorio_hints = text;
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
