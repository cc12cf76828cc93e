// SPDX-License-Identifier: BSD-3-Clause
// OnDevice: a fixture for accesses whose buffers are in device memory, which this process cannot
// touch.
#pragma once

#include "device/devices.hpp"
#include "sim/file_ranks.hpp"
#include "support/stand_in_device.hpp"

namespace oratorio::test {

inline constexpr auto kAt = Positioning::explicit_offset;
inline constexpr auto kShared = Positioning::shared;
inline constexpr auto kWriting = Direction::write;
inline constexpr auto kReading = Direction::read;
inline constexpr Bytes kPiece = StagingBlocks::kPieceBytes;

/// A device's memory and a folder. Each test runs with the stand-ins of both drivers, because the
/// library uses the memory of both in the same way.
class OnDevice : public testing::TestWithParam<const char*> {
  protected:
    OnDevice() : device_(GetParam()) {}

    /// Returns `bytes` of device memory with values that start at `with` and count up.
    [[nodiscard]] std::byte* filled(Bytes bytes, int with) {
        std::byte* const memory = device_.allocate(static_cast<std::size_t>(bytes));
        std::byte* const data = device_.data(memory);
        for (Bytes i = 0; i < bytes; ++i) data[i] = byte_at(i, with);
        return memory;
    }
    static std::byte byte_at(Bytes i, int with) {
        return static_cast<std::byte>(with + i + i / 251);
    }
    [[nodiscard]] std::byte* empty(Bytes bytes) {
        return device_.allocate(static_cast<std::size_t>(bytes));
    }
    /// Returns a call for contiguous memory.
    [[nodiscard]] AccessCall call(Direction direction, std::byte* memory, Bytes bytes,
                                  bool collective, Offset offset = 0, Positioning at = kAt) const {
        AccessCall made;
        made.direction = direction;
        made.collective = collective;
        made.at = at;
        made.offset = offset;
        made.buffer = memory;
        made.memory = Layout{Shape::run(bytes), bytes, 0, 1};
        return made;
    }
    /// Returns the call changed so that its memory is `count` pieces of `length` bytes, `stride`
    /// apart.
    [[nodiscard]] AccessCall strided(AccessCall made, Bytes length, std::int64_t count,
                                     Bytes stride) const {
        made.memory = Layout{Shape::strided(Shape::run(length), count, stride), 0, 0, 1};
        return made;
    }
    [[nodiscard]] bool is_filled(const std::byte* memory, Bytes bytes, int with) const {
        const std::byte* const data = device_.data(memory);
        for (Bytes i = 0; i < bytes; ++i)
            if (data[i] != byte_at(i, with)) return false;
        return true;
    }
    static bool holds(const std::string& content, std::size_t at, Bytes bytes, int with) {
        for (Bytes i = 0; i < bytes; ++i)
            if (std::byte(content[at + static_cast<std::size_t>(i)]) != byte_at(i, with))
                return false;
        return true;
    }
    /// Returns the call that opens the file for reading and writing, and creates it if need be.
    [[nodiscard]] OpenCall opening(HintMap info = {}) {
        OpenCall open = call_of(folder_.file("data"), kCreate, std::move(info));
        open.devices = &devices_;
        return open;
    }
    static void expect_done(const Outcome& outcome, Bytes bytes) {
        EXPECT_EQ(outcome.error.kind, ErrorKind::none) << outcome.error.what;
        EXPECT_EQ(outcome.bytes, bytes);
    }

    StandInDevice device_;
    Devices devices_;
    Folder folder_;
};

inline std::string driver_of(const testing::TestParamInfo<const char*>& given) {
    return std::string_view(given.param).ends_with("libcuda.so.1") ? "cuda" : "hip";
}

#define ORATORIO_ON_BOTH_DRIVERS \
    INSTANTIATE_TEST_SUITE_P(    \
        , OnDevice, testing::Values(ORATORIO_CUDA_STAND_IN, ORATORIO_HIP_STAND_IN), driver_of)

}  // namespace oratorio::test
