// SPDX-License-Identifier: BSD-3-Clause
// The table of workloads, and the functions that read their parameters.
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "makers.hpp"

namespace bench {

const std::string& Params::text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument("parameter missing: " + name);
    return found->second;
}

std::uint64_t Params::number(const std::string& name, std::uint64_t least) const {
    const std::string& value = text(name);
    std::uint64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto [used, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || used != end || number < least) {
        throw std::invalid_argument(name + " must be a whole number of at least " +
                                    std::to_string(least) + ", not " + value);
    }
    return number;
}

namespace {

using Maker = Access (*)(const Params&, Place, Direction);

constexpr std::array<std::pair<const char*, Maker>, 17> makers{{{"coll_perf", make_coll_perf},
                                                                {"tile", make_tile},
                                                                {"flash", make_flash},
                                                                {"hpio", make_hpio},
                                                                {"vec8", make_vec8},
                                                                {"discontig", make_discontig},
                                                                {"sparse", make_sparse},
                                                                {"mar", make_mar},
                                                                {"ship", make_ship},
                                                                {"array", make_array},
                                                                {"btio", make_btio},
                                                                {"s3d", make_s3d},
                                                                {"lattice", make_lattice},
                                                                {"transposed", make_transposed},
                                                                {"e3sm_f", make_e3sm},
                                                                {"e3sm_g", make_e3sm},
                                                                {"recorded", make_recorded}}};

}  // namespace

Access make_access(const std::string& name, const Params& params, Place place,
                   Direction direction) {
    for (const auto& [known, maker] : makers) {
        if (name == known) return maker(params, place, direction);
    }
    throw std::invalid_argument("no workload named " + name);
}

}  // namespace bench
