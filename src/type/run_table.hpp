// SPDX-License-Identifier: BSD-3-Clause
// Run table: the strided runs of one message in a packed form. A small piece close to the previous
// one takes 2 bytes, so that describing a 4-byte piece doesn't cost more than sending it. Runs may
// come in any order, but an offset before the end of the previous run takes 10 bytes. REQUIRES:
// strides aren't negative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "type/cursor.hpp"

namespace oratorio {

class RunTableWriter {
  public:
    /// Maximum number of bytes that one run can take.
    static constexpr std::size_t run_bytes_max = 40;

    RunTableWriter() = default;
    /// The first run's offset is relative to `origin`, which the reader must know.
    RunTableWriter(std::span<std::byte> into, Offset origin) : into_(into), last_(origin) {}

    [[nodiscard]] std::size_t bytes() const { return used_; }
    [[nodiscard]] bool has_room() const { return into_.size() - used_ >= run_bytes_max; }
    void add(const StridedRun& run) {
        put(static_cast<std::uint64_t>(run.offset - last_));
        put(static_cast<std::uint64_t>(run.length) << 1 | (run.count > 1 ? 1U : 0U));
        if (run.count > 1) {
            put(static_cast<std::uint64_t>(run.stride - run.length));
            put(static_cast<std::uint64_t>(run.count));
        }
        last_ = run.end();
    }

  private:
    void put(std::uint64_t value) {
        while (value >= 0x80) {
            into_[used_++] = static_cast<std::byte>(value | 0x80);
            value >>= 7;
        }
        into_[used_++] = static_cast<std::byte>(value);
    }

    std::span<std::byte> into_;
    std::size_t used_ = 0;
    Offset last_ = 0;
};

class RunTableReader {
  public:
    /// Makes a reader that accepts only runs inside `whole`, which begins at the writer's origin.
    RunTableReader(std::span<const std::byte> from, Extent whole)
        : from_(from), whole_(whole), last_(static_cast<std::uint64_t>(whole.begin)) {}

    [[nodiscard]] bool at_end() const { return used_ >= from_.size(); }
    /// Returns the next run. Its count is 0 if the run has no bytes or isn't inside `whole`, which
    /// means that the table is damaged.
    StridedRun next() {
        // Offsets are computed modulo 2^64, because runs of a read may overlap and so have a
        // negative distance.
        last_ += take();
        const std::uint64_t length = take();
        StridedRun run{static_cast<Offset>(last_), static_cast<Bytes>(length >> 1), 0, 1};
        const auto room = static_cast<std::uint64_t>(whole_.end) - last_;
        const bool inside = run.offset >= whole_.begin && run.offset < whole_.end && length > 1 &&
                            length >> 1 <= room;
        if (!inside) return {};
        Bytes before_last = 0;
        if ((length & 1) != 0) {
            run.stride = static_cast<Bytes>((length >> 1) + take());
            run.count = static_cast<std::int64_t>(take());
            if (run.stride < 0 || run.count < 1 ||
                __builtin_mul_overflow(run.count - 1, run.stride, &before_last) ||
                before_last > static_cast<Bytes>(room) - run.length)
                return {};
        }
        last_ += static_cast<std::uint64_t>(before_last + run.length);
        return run;
    }

  private:
    std::uint64_t take() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; used_ < from_.size() && shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint64_t>(from_[used_++]);
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) break;
        }
        return value;
    }

    std::span<const std::byte> from_;
    Extent whole_;
    std::size_t used_ = 0;
    std::uint64_t last_ = 0;  ///< end of the previous run
};

}  // namespace oratorio
