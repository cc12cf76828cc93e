// SPDX-License-Identifier: BSD-3-Clause
// HookState: when the host MPI receives a progress function to call while it waits, and when that
// function is removed.
#include "bind/hook_state.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace oratorio::bind {
namespace {

HookState* state = nullptr;
int in_host = 0;  // number of times that the progress function is registered with the host
int works = 0;    // number of further calls of the function that find work
bool refuses = false;
// Called once when no work is left, before the progress function is removed.
void (*comes_between)() = nullptr;

bool start() {
    if (refuses) return false;
    ++in_host;
    return true;
}
void progress() {
    if (in_host > 0 && !state->called()) --in_host;
}
bool work() {
    if (works > 0) {
        --works;
        return true;
    }
    if (comes_between != nullptr) std::exchange(comes_between, nullptr)();
    return false;
}
bool other_work() {
    return work();
}

class Hook : public testing::Test {
  protected:
    Hook() {
        state = &state_;
        in_host = works = 0;
        refuses = false;
        comes_between = nullptr;
    }

    HookState state_;
};

TEST_F(Hook, IsRegisteredOnceUntilNoWorkIsLeft) {
    works = 2;
    EXPECT_TRUE(state_.install(work, start));
    EXPECT_TRUE(state_.install(work, start));
    EXPECT_EQ(in_host, 1);
    progress();
    progress();
    EXPECT_EQ(in_host, 1);
    progress();
    EXPECT_EQ(in_host, 0) << "no work was left";
    EXPECT_TRUE(state_.install(work, start));
    EXPECT_EQ(in_host, 1) << "the hook is set again";
}

TEST_F(Hook, CanBeWithdrawnAndRequestedAgain) {
    works = 100;
    EXPECT_TRUE(state_.install(work, start));
    state_.withdraw(progress);
    EXPECT_EQ(in_host, 0);
    EXPECT_EQ(works, 100) << "nothing was done for it";
    state_.withdraw([] { ADD_FAILURE() << "no function is registered"; });
    EXPECT_TRUE(state_.install(other_work, start));
    EXPECT_EQ(in_host, 1);
}

TEST_F(Hook, StaysIfWorkArrivesBeforeItIsRemoved) {
    EXPECT_TRUE(state_.install(work, start));
    comes_between = [] {
        works = 3;
        EXPECT_TRUE(state->install(work, start));
    };
    progress();
    EXPECT_EQ(in_host, 1) << "the caller with work saw that the hook is set";
    state_.withdraw(progress);
    EXPECT_EQ(in_host, 0);
}

TEST_F(Hook, IsRequestedAgainAfterARefusal) {
    refuses = true;
    EXPECT_FALSE(state_.install(work, start));
    refuses = false;
    EXPECT_TRUE(state_.install(work, start));
    EXPECT_EQ(in_host, 1);
}

}  // namespace
}  // namespace oratorio::bind
