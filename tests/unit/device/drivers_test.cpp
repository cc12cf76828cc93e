// SPDX-License-Identifier: BSD-3-Clause
// Finding the driver that owns memory, without changing the state that a thread has in a driver.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "device/devices.hpp"
#include "support/stand_in_device.hpp"

namespace oratorio::test {
namespace {

constexpr const char* kCuda = ORATORIO_CUDA_STAND_IN;
constexpr const char* kHip = ORATORIO_HIP_STAND_IN;

Layout one_run(Bytes bytes) {
    return {Shape::run(bytes), bytes, 0, 1};
}

class Drivers : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(, Drivers, testing::Values(kCuda, kHip), [](const auto& given) {
    return std::string(given.param == kCuda ? "cuda" : "hip");
});

TEST(Devices, AreNoneWhereNothingIsLoaded) {
    Devices devices;
    devices.look();
    EXPECT_FALSE(devices.any());
    std::array<std::byte, 8> mine{};
    EXPECT_FALSE(devices.owned_by_device(mine.data(), one_run(8)));
}

TEST_P(Drivers, AreFoundAlsoWhenTheyAreLoadedLater) {
    Devices devices;
    devices.look();
    EXPECT_FALSE(devices.any());
    const StandInDevice device(GetParam());
    devices.look();
    ASSERT_TRUE(devices.any());
    EXPECT_STREQ(devices.owned_by_device(device.allocate(64), one_run(64))->driver->name(),
                 GetParam() == kCuda ? "CUDA" : "HIP");
}

TEST_P(Drivers, OwnOnlyMemoryThatTheHostCantTouch) {
    const StandInDevice device(GetParam());
    Devices devices;
    devices.look();
    const auto owned = [&](std::byte* memory) {
        return devices.owned_by_device(memory, one_run(64)).has_value();
    };
    std::array<std::byte, 64> plain{};
    EXPECT_TRUE(owned(device.allocate(64)));
    EXPECT_FALSE(owned(device.allocate(64, StandInKind::managed)));
    EXPECT_FALSE(owned(device.allocate(64, StandInKind::host)));
    EXPECT_FALSE(owned(plain.data()));
    EXPECT_FALSE(owned(nullptr));
}

TEST(Devices, AnUninitialisedDriverHasNoDevices) {
    const StandInDevice device(kCuda);
    Devices devices;
    devices.look();
    std::byte* const memory = device.allocate(64);
    device.counts().uninitialised = 1;
    EXPECT_FALSE(devices.owned_by_device(memory, one_run(64)));
}

TEST(Devices, Rocm5HasOtherNumbers) {
    const StandInDevice device(kHip);
    device.counts().version = 50631061;
    Devices devices;
    devices.look();
    EXPECT_TRUE(devices.owned_by_device(device.allocate(64), one_run(64)));
    EXPECT_FALSE(devices.owned_by_device(device.allocate(64, StandInKind::host), one_run(64)));
    EXPECT_FALSE(devices.owned_by_device(device.allocate(64, StandInKind::managed), one_run(64)));
}

/// Returns a layout with absolute addresses, as for MPI_BOTTOM.
Layout of_parts(std::initializer_list<std::byte*> parts) {
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    Bytes length = 8;
    for (std::byte* const part : parts) {
        offsets.push_back(reinterpret_cast<Offset>(part));
        lengths.push_back(length++);
    }
    return {Shape::runs(offsets, List<Bytes>(lengths)), 0, 0, 1};
}

TEST_P(Drivers, AreFoundByAnyPartOfALayout) {
    const StandInDevice device(GetParam());
    Devices devices;
    devices.look();
    std::array<std::byte, 128> mine{};
    std::byte* const theirs = device.allocate(4096);
    std::byte* const first = mine.data();
    std::byte* const last = mine.data() + 100;
    EXPECT_FALSE(devices.owned_by_device(nullptr, of_parts({first, last})));
    for (const auto& layout : {of_parts({theirs, first, last}), of_parts({first, theirs, last}),
                               of_parts({first, last, theirs})})
        EXPECT_TRUE(devices.owned_by_device(nullptr, layout));
}

TEST_P(Drivers, AreFoundInMembersOfStructures) {
    const StandInDevice device(GetParam());
    Devices devices;
    devices.look();
    std::array<std::byte, 128> mine{};
    std::byte* const theirs = device.allocate(4096);
    const auto at = [](std::byte* place) { return reinterpret_cast<Offset>(place); };
    const ShapePtr member = Shape::strided(Shape::run(4), 5, 8);
    const ShapePtr both = Shape::mixed({Shape::run(8), member, Shape::run(8)},
                                       {at(mine.data()), at(theirs), at(mine.data() + 64)});
    EXPECT_TRUE(devices.owned_by_device(nullptr, {both, 0, 0, 1}));
    const ShapePtr copies = Shape::blocks(
        member, {at(mine.data()), at(theirs), at(mine.data() + 48), at(mine.data() + 80)});
    EXPECT_TRUE(devices.owned_by_device(nullptr, {copies, 0, 0, 1}));
}

TEST_P(Drivers, LeaveNothingBehind) {
    const StandInDevice device(GetParam());
    Devices devices;
    devices.look();
    std::byte* const memory = device.allocate(64, StandInKind::device, 2);
    std::byte* const pooled =
        device.allocate(64, StandInKind::device, GetParam() == kCuda ? -1 : 1);
    std::array<std::byte, 64> mine{};
    for (std::byte* const from : {memory, pooled}) {
        const auto owned = devices.owned_by_device(from, one_run(64));
        ASSERT_TRUE(owned);
        auto queue = owned->driver->open(from);
        ASSERT_TRUE(queue.ok());
        EXPECT_EQ((*queue)->start({mine.data(), 0, from, 0, 64, 1}).kind, ErrorKind::none);
        EXPECT_EQ((*queue)->wait().kind, ErrorKind::none);
        EXPECT_EQ(device.counts().streams, 1);
    }
    EXPECT_EQ(device.counts().streams, 0);
    EXPECT_EQ(device.counts().retained, 0);
    if (GetParam() == kCuda) {
        EXPECT_EQ(reinterpret_cast<int (*)()>(device.call("stand_in_depth"))(), 0);
    } else {
        int current = -1;
        reinterpret_cast<int (*)(int*)>(device.call("hipGetDevice"))(&current);
        EXPECT_EQ(current, 0);
    }
}

TEST(Devices, HipKeepsTheProgramsLastError) {
    const StandInDevice device(kHip);
    Devices devices;
    devices.look();
    const auto peek = reinterpret_cast<int (*)()>(device.call("hipPeekAtLastError"));
    const auto take = reinterpret_cast<int (*)()>(device.call("hipGetLastError"));
    std::array<std::byte, 8> mine{};
    EXPECT_FALSE(devices.owned_by_device(mine.data(), one_run(8)));
    EXPECT_EQ(peek(), 0);
    // The program makes an invalid call itself, a copy of the wrong kind. The library must not
    // clear the error that this call leaves.
    std::byte* const memory = device.allocate(64);
    auto queue = devices.owned_by_device(memory, one_run(64))->driver->open(memory);
    ASSERT_TRUE(queue.ok());
    int nobody = 0;
    using Copy = int (*)(void*, const void*, std::size_t, int, void*);
    reinterpret_cast<Copy>(device.call("hipMemcpyAsync"))(mine.data(), memory, 8, 0, &nobody);
    EXPECT_EQ(peek(), 1);
    EXPECT_FALSE(devices.owned_by_device(mine.data(), one_run(8)));
    EXPECT_EQ(peek(), 1);
    take();
}

TEST_P(Drivers, SayWhichCallFailedWithWhat) {
    const StandInDevice device(GetParam());
    Devices devices;
    devices.look();
    std::byte* const memory = device.allocate(64);
    std::array<std::byte, 64> mine{};
    const auto copy = [&] {
        auto queue = devices.owned_by_device(memory, one_run(64))->driver->open(memory);
        EXPECT_TRUE(queue.ok());
        const Error started = (*queue)->start({mine.data(), 0, memory, 0, 64, 1});
        return started.kind != ErrorKind::none ? started : (*queue)->wait();
    };
    device.counts().fails_at = 1;
    const Error now = copy();
    EXPECT_EQ(now.kind, ErrorKind::buffer);
    device.counts().fails_late = 1;
    const Error late = copy();
    EXPECT_EQ(late.kind, ErrorKind::buffer);
    const bool cuda = GetParam() == kCuda;
    const std::string said = "memory of a device can't be copied: ";
    EXPECT_EQ(now.what, said + (cuda ? "cuMemcpyAsync returned 1" : "hipMemcpyAsync returned 1"));
    EXPECT_EQ(late.what, said + (cuda ? "cuStreamSynchronize returned 700"
                                      : "hipStreamSynchronize returned 719"));
}

}  // namespace
}  // namespace oratorio::test
