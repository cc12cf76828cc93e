// SPDX-License-Identifier: BSD-3-Clause
#include "count/workload.hpp"

#include <cmath>
#include <memory>
#include <stdexcept>

#include "count/layouts.hpp"
#include "count/recorded.hpp"
#include "count/run_file.hpp"
#include "hints/hints.hpp"
#include "plan/methods.hpp"

namespace oratorio::count {

namespace {

/// The parts of a workload's word `name` or `name:points`.
struct Named {
    std::string name;
    std::int64_t points = 0;
};

Named named(const std::string& workload) {
    const auto colon = workload.find(':');
    if (colon == std::string::npos) return {workload};
    return {workload.substr(0, colon), std::stoi(workload.substr(colon + 1))};
}

Btio btio_of(std::int64_t points, int ranks) {
    (void)btio_side(ranks);  // refuses other numbers of ranks before the workload is walked
    Btio btio;
    if (points > 0) btio.n = points;
    return btio;
}

}  // namespace

LayoutOf layouts_of(const std::string& workload, int ranks) {
    const auto& [name, points] = named(workload);
    if (name == "btio") {
        return [btio = btio_of(points, ranks), ranks](Rank rank) {
            return layout_of(btio, ranks, rank);
        };
    }
    if (name == "s3d") {
        S3d checkpoint = checkpoint_of(ranks);
        if (points > 0) checkpoint.n = points;
        return [=](Rank rank) { return layout_of(checkpoint, rank); };
    }
    if (Recorded::is_one(workload)) {
        const auto recorded = std::make_shared<const Recorded>(workload, ranks);
        return [recorded](Rank rank) { return recorded->layout_of(rank); };
    }
    const auto file = std::make_shared<const RunFile>(workload, ranks);
    return [file](Rank rank) { return file->layout_of(rank); };
}

std::function<AccessSummary(Rank)> summaries_by_rule(const std::string& workload, int ranks) {
    const auto& [name, points] = named(workload);
    if (name != "btio") return nullptr;
    return [of_rank = BtioSummaries(btio_of(points, ranks), ranks)](Rank rank) {
        return of_rank.of(rank);
    };
}

bool leaves_no_holes(const std::string& workload) {
    return !Recorded::is_one(workload);
}

PlanOptions options_of(const std::string& hints) {
    HintSources sources;
    sources.oratorio_hints = hints;
    const auto parsed = parse_hints(merge_hints(sources, {}, ""));
    for (const HintWarning& warning : parsed.warnings) throw std::runtime_error(warning.sentence);
    const PlanOptions& options = parsed.hints.plan;
    if (options.method == nullptr || options.method->exchange != ExchangeKind::peer)
        throw std::runtime_error("only methods whose ranks send packed messages are simulated: " +
                                 hints);
    return options;
}

}  // namespace oratorio::count
