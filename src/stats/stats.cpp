#include "stats/stats.hpp"

namespace oratorio {

std::string Stats::report() const {
    std::string text;
#define COUNTER(name, unit, description) \
    if (name != 0) text += std::string(#name) + " " + std::to_string(name) + " " + (unit) + "\n";
#include "stats/counters.def"
#undef COUNTER
    return text;
}

}  // namespace oratorio
