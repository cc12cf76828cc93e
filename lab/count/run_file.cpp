// SPDX-License-Identifier: BSD-3-Clause
#include "count/run_file.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "count/number_file.hpp"

namespace oratorio::count {

namespace {

constexpr std::int64_t kRunsMagic = 0x314e55524d533345;  // "E3SMRUN1"

/// Returns a rank's part of one variable, in the order of the file.
ShapePtr variable_of(std::vector<Extent>& runs) {
    std::ranges::sort(runs, {}, &Extent::begin);
    std::vector<Offset> offsets;
    List<Bytes> lengths(runs.size());
    for (const Extent& run : runs) {
        lengths.data()[offsets.size()] = run.length();
        offsets.push_back(run.begin);
    }
    return Shape::runs(std::move(offsets), lengths);
}

}  // namespace

RunFile::RunFile(const std::string& path, int ranks) : ranks_(ranks) {
    NumberFile reader(path, kRunsMagic, "runs");
    processes_ = reader.number();
    if (processes_ < 1 || (processes_ % ranks != 0 && ranks % processes_ != 0))
        throw std::runtime_error("the map has " + std::to_string(processes_) +
                                 " processes: the number of ranks, " + std::to_string(ranks) +
                                 ", must be a divisor or a multiple of that");
    const std::int64_t maps = reader.number();
    for (std::int64_t i = 0; i < maps; ++i) {
        Map& map = maps_.emplace_back();
        map.begin = size_;
        map.element = reader.number();
        map.variable = reader.number() * map.element;
        map.variables = reader.number();
        for (std::int64_t process = 0; process < processes_; ++process) {
            map.firsts.push_back(map.runs.size());
            const std::int64_t count = reader.number();
            const std::vector<std::int64_t> firsts = reader.numbers(count);
            const std::vector<std::int64_t> lengths = reader.numbers(count);
            for (std::size_t k = 0; k < firsts.size(); ++k)
                map.runs.push_back({firsts[k], firsts[k] + lengths[k]});
        }
        map.firsts.push_back(map.runs.size());
        size_ += map.variables * map.variable;
    }
}

/// Returns a rank's runs of one variable of the map, in elements.
std::vector<Extent> RunFile::runs_of(const Map& map, Rank rank) const {
    const std::int64_t each = std::max<std::int64_t>(1, processes_ / ranks_);
    const std::int64_t sharers = std::max<std::int64_t>(1, ranks_ / processes_);
    const auto first = static_cast<std::size_t>(rank / sharers * each);
    const std::span<const Extent> all = std::span(map.runs).subspan(
        map.firsts[first], map.firsts[first + static_cast<std::size_t>(each)] - map.firsts[first]);
    if (sharers == 1) return {all.begin(), all.end()};
    std::int64_t points = 0;
    for (const Extent& run : all) points += run.length();
    const std::int64_t begin = points * (rank % sharers) / sharers;
    const std::int64_t end = points * (rank % sharers + 1) / sharers;
    std::vector<Extent> runs;
    std::int64_t at = 0;
    for (const Extent& run : all) {
        const Extent mine = intersect({begin - at, end - at}, {0, run.length()});
        if (!mine.empty()) runs.push_back({run.begin + mine.begin, run.begin + mine.end});
        at += run.length();
    }
    return runs;
}

Layout RunFile::layout_of(Rank rank) const {
    std::vector<ShapePtr> shapes;
    std::vector<Offset> begins;
    for (const Map& map : maps_) {
        std::vector<Extent> runs = runs_of(map, rank);
        for (Extent& run : runs) run = {run.begin * map.element, run.end * map.element};
        shapes.push_back(Shape::strided(variable_of(runs), map.variables, map.variable));
        begins.push_back(map.begin);
    }
    return {Shape::mixed(std::move(shapes), std::move(begins)), size_, 0, 1};
}

}  // namespace oratorio::count
