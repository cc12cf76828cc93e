// SPDX-License-Identifier: BSD-3-Clause
#include "count/cutter.hpp"

#include <algorithm>

#include "exchange/data_port.hpp"

namespace oratorio::count {

void Cutter::enter(const Region& region, std::int64_t& extent) {
    while (extent < region.count && region.extent(extent).empty()) ++extent;
    if (extent < region.count) file_.seek_offset(region.extent(extent).begin);
}

StridedRun Cutter::next(const Region& region, std::int64_t& extent, Bytes most) {
    const Bytes left = bytes_ - file_.tell_size();
    const StridedRun run =
        left > 0 ? file_.next(std::min(most, left), region.extent(extent).end) : StridedRun{};
    if (run.count == 0) enter(region, ++extent);
    return run;
}

Cut Cutter::cut(const Region& region) {
    Cut all;
    std::int64_t extent = 0;
    enter(region, extent);
    do {
        RunTableWriter table(table_, region.begin);
        Bytes payload = 0;
        while (extent < region.count) {
            const Bytes room =
                room_ - static_cast<Bytes>(table.bytes() + RunTableWriter::run_bytes_max) - payload;
            if (room <= 0) break;
            const Bytes position = file_.tell_size();
            const StridedRun run = next(region, extent, room);
            if (run.count == 0) continue;
            if (whole_pieces_ && payload > 0 &&
                is_split(file_, run, bytes_, region.extent(extent).end, room_)) {
                file_.seek_size(position);
                break;
            }
            table.add(run);
            payload += run.bytes();
            all.pieces += run.count;
        }
        ++all.messages;
        all.payload += payload;
        all.described += static_cast<Bytes>(sizeof(MessageHead) + table.bytes());
    } while (extent < region.count);
    return all;
}

void Cutter::append(const Region& region, std::vector<OwnedPiece>& pieces) {
    std::int64_t number = pieces.empty() ? 0 : pieces.back().run + 1;
    std::int64_t extent = 0;
    enter(region, extent);
    while (extent < region.count) {
        const StridedRun run = next(region, extent, INT64_MAX);
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Offset begin = run.offset + i * run.stride;
            pieces.push_back({{begin, begin + run.length}, number});
        }
        ++number;
    }
}

}  // namespace oratorio::count
