// SPDX-License-Identifier: BSD-3-Clause
// The reserve: memory for times when the system has none. Its blocks don't overlap, and can be
// taken again after they have been returned.
#include "memory/reserve.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <vector>

#include "support/random.hpp"

namespace oratorio::test {
namespace {

struct Memory {
    alignas(16) std::array<std::byte, 64 << 10> bytes{};
};

TEST(Reserve, BlocksNeverOverlapAndAllComesBack) {
    Memory memory;
    Reserve reserve{std::span(memory.bytes)};
    Random random(7);
    struct Taken {
        unsigned char* at;
        std::size_t bytes;
        unsigned char mark;
    };
    std::vector<Taken> taken;
    for (int step = 0; step < 20000; ++step) {
        if (random.chance(55)) {
            const std::size_t bytes = random.below(900);
            auto* const at = static_cast<unsigned char*>(reserve.take(bytes));
            if (at == nullptr) continue;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0U);
            taken.push_back({at, bytes, static_cast<unsigned char>(step)});
            std::memset(at, taken.back().mark, bytes);
        } else if (!taken.empty()) {
            std::swap(taken[random.below(taken.size())], taken.back());
            const Taken one = taken.back();
            taken.pop_back();
            for (std::size_t i = 0; i < one.bytes; ++i) ASSERT_EQ(one.at[i], one.mark);
            ASSERT_TRUE(reserve.give_back(one.at));
        }
    }
    EXPECT_GT(reserve.most_used(), memory.bytes.size() / 2) << "the test fills it";
    for (const Taken& one : taken) EXPECT_TRUE(reserve.give_back(one.at));
    EXPECT_EQ(reserve.used(), 0U);
    EXPECT_TRUE(reserve.make_room(memory.bytes.size() - 64)) << "in one piece again";
}

TEST(Reserve, ALargeNeedLeavesTheRestForSmallOnes) {
    Memory memory;
    Reserve reserve{std::span(memory.bytes)};
    EXPECT_EQ(reserve.take(memory.bytes.size() / 2), nullptr);
    EXPECT_EQ(reserve.take(SIZE_MAX), nullptr);
    void* const small = reserve.take(memory.bytes.size() / 8);
    EXPECT_NE(small, nullptr);
    EXPECT_TRUE(reserve.give_back(small));
}

TEST(Reserve, RejectsForeignMemory) {
    Memory memory;
    Reserve reserve{std::span(memory.bytes)};
    int other = 0;
    EXPECT_FALSE(reserve.give_back(&other));
}

TEST(Reserve, RoomIsMadeWhereTooLittleIsLeft) {
    Memory memory;
    Reserve reserve{std::span(memory.bytes)};
    std::vector<void*> taken;
    while (void* const one = reserve.take(1000)) taken.push_back(one);
    EXPECT_TRUE(reserve.make_room(1 << 20));
    void* const more = reserve.take(200'000);
    EXPECT_NE(more, nullptr);
    std::memset(more, 1, 200'000);
    EXPECT_TRUE(reserve.give_back(more));
    for (void* const one : taken) EXPECT_TRUE(reserve.give_back(one));
    EXPECT_EQ(reserve.used(), 0U);
}

TEST(Reserve, RoomThatTheSystemDoesNotGiveIsRefused) {
    Memory memory;
    Reserve reserve{std::span(memory.bytes)};
    EXPECT_FALSE(reserve.make_room(std::size_t{1} << 60));
    EXPECT_EQ(ready_for_collective(8).kind, ErrorKind::none);
}

/// Returns the program or library that defines a function.
template <class Function>
std::string definer_of(Function* function) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(function), &info) == 0) return "unknown";
    return info.dli_fname;
}

// Memory from another library's new must not reach our delete. std::stable_sort uses the form that
// does not throw.
TEST(OperatorNew, AllFormsForOneObjectComeFromTheSameLibrary) {
    using New = void*(std::size_t);
    using NewOrNull = void*(std::size_t, const std::nothrow_t&) noexcept;
    using Delete = void(void*) noexcept;
    using SizedDelete = void(void*, std::size_t) noexcept;
    using DeleteAfterThrow = void(void*, const std::nothrow_t&) noexcept;
    const std::string ours = definer_of<New>(&operator new);
    EXPECT_EQ(definer_of<NewOrNull>(&operator new), ours);
    EXPECT_EQ(definer_of<Delete>(&operator delete), ours);
    EXPECT_EQ(definer_of<SizedDelete>(&operator delete), ours);
    EXPECT_EQ(definer_of<DeleteAfterThrow>(&operator delete), ours);
}

}  // namespace
}  // namespace oratorio::test
