// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of copying between a user's memory and a collective buffer, and of looking for
// holes.
#include <cstdint>

#include "base/direction.hpp"
#include "layouts.hpp"
#include "plan/methods.hpp"
#include "session.hpp"
#include "type/copy.hpp"
#include "type/coverage.hpp"

namespace oratorio::calibrate {
namespace {

constexpr Bytes kLong = 1024;
constexpr Bytes kShort = 16;
constexpr Bytes kAlone = 8;          // a piece of this many bytes has its cache line to itself ...
constexpr Bytes kAloneStride = 192;  // ... at this distance, with unused lines in between

/// Copies all data of `memory` through a sub-buffer, region by region, as the exchange in shared
/// memory does. Each region holds `share` bytes of data.
class Copying {
  public:
    Copying(Layout memory, Layout file, Bytes share, std::span<std::byte> user)
        : memory_(std::move(memory)),
          file_(std::move(file)),
          share_(share),
          user_(user),
          buffer_(static_cast<std::size_t>(kSharedSlotBytes)) {}

    Nanoseconds time(Direction direction) {
        const Stopwatch watch;
        Cursor memory(memory_);
        Cursor file(file_);
        Offset region = 0;
        for (Bytes left = memory_.size(); left > 0;) {
            const Bytes bytes = std::min(left, share_);
            // The base is computed as an integer, because offset 0 of the file lies nowhere in
            // memory.
            auto* const base =
                reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer_.data()) -
                                             static_cast<std::uintptr_t>(region));
            if (direction == Direction::read) {
                copy_between(memory, user_.data(), file, base, bytes);
            } else {
                copy_between(file, base, memory, user_.data(), bytes);
            }
            left -= bytes;
            region += kSharedSlotBytes;
        }
        return watch.elapsed();
    }
    /// Returns the mean time of both directions.
    Result<Nanoseconds> operator()() {
        return (time(Direction::write) + time(Direction::read)) / 2;
    }

  private:
    Layout memory_;
    Layout file_;
    Bytes share_;
    std::span<std::byte> user_;
    std::vector<std::byte> buffer_;
};

Nanoseconds hashing(const Layout& layout) {
    const Stopwatch watch;
    const std::uint64_t sum = coverage(layout, 0, layout.size());
    asm volatile("" : : "r"(sum));  // keeps the compiler from removing the computation
    return watch.elapsed();
}

}  // namespace

Result<void> measure_copies(Session& session) {
    const Bytes data = session.scale().data;
    std::vector<std::byte> user(static_cast<std::size_t>(data), std::byte{1});
    const Bytes half = kSharedSlotBytes / 2;
    Copying long_pieces(dense(data), strided(kLong, 2 * kLong, 2 * data), half, user);
    Copying even_pieces(dense(data), strided(kShort, 2 * kShort, 2 * data), half, user);
    Copying uneven_pieces(dense(data), listed(kShort, 2 * data), half, user);
    const Layout scattered = strided(kAlone, kAloneStride, data / kAloneStride * kAloneStride);
    Copying alone(scattered, dense(scattered.size()), kSharedSlotBytes, user);
    const Layout hashed = strided(kShort, 2 * kShort, 2 * data);
    const std::vector<Probe> probes{
        {"long pieces copied", std::ref(long_pieces)},
        {"short pieces copied", std::ref(even_pieces)},
        {"listed pieces copied", std::ref(uneven_pieces)},
        {"lone pieces copied", std::ref(alone)},
        {"pieces searched for holes", [&]() -> Result<Nanoseconds> { return hashing(hashed); }}};
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const auto bytes = static_cast<double>(data);
    // The cost is the mean of pieces at equal distances and pieces that a datatype lists, because
    // programs have both.
    const Nanoseconds copied_short = ((*times)[1] + (*times)[2]) / 2;
    const Line copied = fit(bytes, (*times)[0], bytes / kLong, copied_short, bytes / kShort);
    const auto lone_pieces = static_cast<double>(scattered.size() / kAlone);
    session.measured("copy_byte", copied.byte);
    session.measured("copy_piece", copied.piece);
    session.measured("piece_line", (*times)[3] / lone_pieces - copied.piece - kAlone * copied.byte);
    session.measured("hash_piece", (*times)[4] / (bytes / kShort));
    return {};
}

}  // namespace oratorio::calibrate
