// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_memory.hpp"

#include <algorithm>

#include "device/place_in.hpp"
#include "type/copy.hpp"

namespace oratorio {

namespace {

/// Pieces shorter than this are small: copying each of them is assumed to take longer than one copy
/// of all with the bytes between them. Not measured yet.
constexpr Bytes kSmallPiece = 512;
/// Small pieces are close together if at least one in this many bytes belongs to a piece.
constexpr Bytes kSparse = 8;

bool is_small(const StridedRun& run) {
    return run.length < kSmallPiece;
}

bool is_pitch(Bytes stride, Bytes length) {
    return stride >= length && stride <= kPitchMost;
}

/// A stretch of device memory with small pieces, in ascending order, and the bytes between them.
struct Stretch {
    Extent hull;
    Bytes bytes = 0;
    int runs = 0;

    /// Returns the stretch of the next small pieces at the cursor, as many as lie close together
    /// and fit into the window.
    static Stretch at(Cursor memory, Bytes bytes_max, Bytes window) {
        Stretch stretch;
        const Bytes most = window / kSparse;
        while (stretch.bytes < bytes_max) {
            const StridedRun run = memory.next(std::min(bytes_max - stretch.bytes, most));
            if (!stretch.takes(run, window)) break;
            if (stretch.runs++ == 0) stretch.hull.begin = run.offset;
            stretch.hull.end = run.end();
            stretch.bytes += run.bytes();
        }
        return stretch;
    }
    /// Returns true if one copy of the stretch replaces several copies, or a strided one.
    [[nodiscard]] bool helps() const { return runs > 1 || hull.length() > bytes; }

  private:
    [[nodiscard]] bool takes(const StridedRun& run, Bytes window) const {
        if (run.count == 0 || !is_small(run) || (run.count > 1 && run.stride < run.length))
            return false;
        const Offset begin = runs == 0 ? run.offset : hull.begin;
        const Bytes length = run.end() - begin;
        return (runs == 0 || run.offset >= hull.end) && length <= window &&
               length <= kSparse * (bytes + run.bytes());
    }
};

/// Packs data from device memory into host memory. Small pieces that lie close together go through
/// the window, where they have the same layout as on the device.
class Gathering {
  public:
    Gathering(DeviceQueue& queue, const std::byte* base, std::span<std::byte> window)
        : queue_(queue), base_(base), window_(window) {}

    /// Copies the data of the next run or stretch to the start of `out`, or starts the copy, and
    /// removes that part from `out`.
    Error take(Cursor& memory, std::span<std::byte>& out) {
        Cursor ahead = memory;
        const StridedRun run = ahead.next(std::ssize(out));
        if (is_small(run) && !window_.empty()) {
            const auto stretch = Stretch::at(memory, std::ssize(out), std::ssize(window_));
            if (stretch.helps()) {
                if (const Error error = end_pending(); error.kind != ErrorKind::none) return error;
                if (copy_to_window(stretch)) return take_from_window(stretch, memory, out);
            }
        }
        pending_ = true;
        memory = std::move(ahead);
        std::byte* const to = out.data();
        out = out.subspan(static_cast<std::size_t>(run.bytes()));
        return start_rows(queue_, {to, run.length, place_in(base_, run.offset), run.stride,
                                   run.length, run.count});
    }

  private:
    Error end_pending() {
        if (!pending_) return {};
        pending_ = false;
        return queue_.wait();
    }
    /// Copies a stretch to the window. If the driver refuses, stops using the window for good and
    /// returns false: the bytes between the pieces might not belong to the program.
    bool copy_to_window(const Stretch& stretch) {
        const Extent hull = stretch.hull;
        const Error started =
            queue_.start({window_.data(), 0, place_in(base_, hull.begin), 0, hull.length(), 1});
        const Error waited = queue_.wait();
        if (started.kind == ErrorKind::none && waited.kind == ErrorKind::none) return true;
        window_ = {};
        return false;
    }
    Error take_from_window(const Stretch& stretch, Cursor& memory, std::span<std::byte>& out) {
        const auto bytes = static_cast<std::size_t>(stretch.bytes);
        gather_bytes(memory, place_in(window_.data(), -stretch.hull.begin), out.first(bytes));
        out = out.subspan(bytes);
        return {};
    }

    DeviceQueue& queue_;
    const std::byte* base_;
    std::span<std::byte> window_;
    bool pending_ = false;
};

}  // namespace

Error start_rows(DeviceQueue& queue, const CopyRows& rows) {
    if (rows.count == 0)
        return Error::make(ErrorKind::internal,
                           "device copy: the layout ends before the data does");
    if (rows.count == 1 ||
        (is_pitch(rows.to_stride, rows.length) && is_pitch(rows.from_stride, rows.length)))
        return queue.start(rows);
    CopyRows row = rows;
    row.count = 1;
    Error error;
    for (std::int64_t i = 0; i < rows.count && error.kind == ErrorKind::none; ++i) {
        row.to = place_in(rows.to, i * rows.to_stride);
        row.from = place_in(rows.from, i * rows.from_stride);
        error = queue.start(row);
    }
    return error;
}

Error gather_from_device(DeviceQueue& queue, Cursor& memory, const std::byte* base,
                         std::span<std::byte> out, std::span<std::byte> window) {
    Gathering gathering(queue, base, window);
    Error error;
    while (!out.empty() && error.kind == ErrorKind::none) error = gathering.take(memory, out);
    return error;
}

Error scatter_to_device(DeviceQueue& queue, Cursor& memory, std::byte* base,
                        std::span<const std::byte> in) {
    Error error;
    while (!in.empty() && error.kind == ErrorKind::none) {
        const StridedRun run = memory.next(std::ssize(in));
        error = start_rows(queue, {place_in(base, run.offset), run.stride, in.data(), run.length,
                                   run.length, run.count});
        in = in.subspan(static_cast<std::size_t>(run.bytes()));
    }
    return error;
}

}  // namespace oratorio
