// Stats: exact counts of what the engine did, one number per row of counters.def. Passed down,
// never global.
#pragma once

#include <cstdint>
#include <string>

namespace oratorio {

struct Stats {
#define COUNTER(name, unit, description) std::uint64_t name = 0;
#include "stats/counters.def"
#undef COUNTER

    /// One "name value unit" line per counter that isn't zero.
    [[nodiscard]] std::string report() const;
};

}  // namespace oratorio
