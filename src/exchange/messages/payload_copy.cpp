// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/messages/payload_copy.hpp"

#include <algorithm>

#include "exchange/messages/piece_writer.hpp"
#include "type/kernels.hpp"
#include "type/run_table.hpp"

namespace oratorio {

namespace {

/// Copies `count` pieces of `length` bytes, equally spaced on both sides.
void copy_strided(std::byte* to, Bytes to_stride, const std::byte* from, Bytes from_stride,
                  Bytes length, std::int64_t count) {
    if (length > 0)
        copy_equal({to, nullptr, to_stride, 0}, {from, nullptr, from_stride, 0}, length, count, 1);
}

/// Calls `visit(run, buffer position of its first byte)` for each run of the table. Stops and
/// returns false if a run leaves its extent of the region, or if the runs exceed `payload` bytes.
template <class Visit>
bool for_each_run(std::span<const std::byte> table, const Region& region, std::size_t payload,
                  Visit visit) {
    const Extent whole{region.begin,
                       region.begin + (region.count - 1) * region.stride + region.length};
    RunTableReader reader(table, whole);
    auto left = static_cast<Bytes>(payload);
    while (!reader.at_end()) {
        const StridedRun run = reader.next();
        if (run.count == 0) return false;
        const std::int64_t extent =
            region.count > 1 ? (run.offset - region.begin) / region.stride : 0;
        const Bytes at = region.buffer_position(extent, run.offset);
        if (region.count > 1 && at + (run.end() - run.offset) > (extent + 1) * region.length)
            return false;
        Bytes bytes = 0;
        if (__builtin_mul_overflow(run.length, run.count, &bytes) || bytes > left) return false;
        left -= bytes;
        visit(run, at);
    }
    return true;
}

}  // namespace

bool place_runs(std::span<const std::byte> table, std::span<const std::byte> payload,
                const Region& region, const RoundBuffer& buffer) {
    const std::byte* from = payload.data();
    return for_each_run(table, region, payload.size(), [&](const StridedRun& run, Bytes at) {
        std::byte* const to = buffer.data.data() + at;
        if (run.count == 1) {  // common for small runs: skip the choice of a copy kernel
            copy_piece(to, from, run.length);
        } else {
            copy_strided(to, run.stride, from, run.length, run.length, run.count);
        }
        if (!buffer.mask.empty()) mark_written(buffer.mask.data() + at, run);
        from += run.bytes();
    });
}

std::optional<Bytes> fetch_runs(std::span<const std::byte> table, std::span<std::byte> payload,
                                const Region& region, std::span<const std::byte> buffer,
                                Offset valid_until) {
    std::byte* to = payload.data();
    const auto fetch = [&](const StridedRun& run, Bytes at) {
        if (run.end() <= valid_until) {
            if (run.count == 1) {
                copy_piece(to, buffer.data() + at, run.length);
            } else {
                copy_strided(to, run.length, buffer.data() + at, run.stride, run.length, run.count);
            }
            to += run.bytes();
            return;
        }
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Bytes there =
                std::clamp<Bytes>(valid_until - (run.offset + i * run.stride), 0, run.length);
            copy_strided(to, there, buffer.data() + at + i * run.stride, there, there,
                         there > 0 ? 1 : 0);
            to += there;
        }
    };
    if (!for_each_run(table, region, payload.size(), fetch)) return std::nullopt;
    return to - payload.data();
}

std::optional<PieceList> list_runs(std::span<const std::byte> table, Bytes payload,
                                   const Region& region, std::span<const std::byte> buffer,
                                   Offset valid_until, std::span<std::byte> lists) {
    PieceWriter pieces(lists);
    bool fits = true;
    const auto list = [&](const StridedRun& run, Bytes at) {
        fits = fits && run.count <= pieces.room() && run.bytes() <= PieceWriter::bytes_max;
        for (std::int64_t i = 0; i < run.count && fits; ++i) {
            const Bytes there =
                std::clamp<Bytes>(valid_until - (run.offset + i * run.stride), 0, run.length);
            if (there > 0) pieces.add(buffer.data() + at + i * run.stride, there);
        }
    };
    const auto most = std::min(payload, PieceWriter::bytes_max);
    if (payload < 0 || !for_each_run(table, region, static_cast<std::size_t>(most), list) || !fits)
        return std::nullopt;
    return pieces.list();
}

void mark_runs(std::span<const std::byte> table, const Region& region, std::span<std::byte> mask) {
    (void)for_each_run(table, region, PieceWriter::bytes_max, [&](const StridedRun& run, Bytes at) {
        mark_written(mask.data() + at, run);
    });
}

}  // namespace oratorio
