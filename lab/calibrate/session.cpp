// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <cstdio>

namespace oratorio::calibrate {

Result<std::vector<Nanoseconds>> Session::medians(std::span<const Probe> probes) {
    std::vector<std::vector<Nanoseconds>> samples(probes.size());
    const auto steps = static_cast<double>(probes.size()) * (scale_.repeats + 1);
    double step = 0;
    const Stopwatch watch;
    for (int pass = 0; pass <= scale_.repeats; ++pass) {
        if (pass > 1 && watch.elapsed() > scale_.enough) break;
        for (std::size_t i = 0; i < probes.size(); ++i) {
            tell(step++ / steps, probes[i].what);
            const auto time = probes[i].run();
            if (!time) return time.error();
            if (pass > 0) samples[i].push_back(*time);
        }
    }
    ++group_;
    std::vector<Nanoseconds> result;
    for (const auto& of_probe : samples) result.push_back(median(of_probe));
    return result;
}

void Session::measured(std::string_view name, Nanoseconds value) {
    std::printf("measured\t%.*s\t%.6g\n", static_cast<int>(name.size()), name.data(),
                std::max(value, kLeastCost));
}

void Session::kept(std::string_view name, std::string_view reason) {
    std::printf("kept\t%.*s\t%.*s\n", static_cast<int>(name.size()), name.data(),
                static_cast<int>(reason.size()), reason.data());
}

void Session::tell(double share_of_group, std::string_view what) const {
    std::printf("step\t%.4f\t%.*s\n", (group_ + share_of_group) / groups_,
                static_cast<int>(what.size()), what.data());
    std::fflush(stdout);
}

}  // namespace oratorio::calibrate
