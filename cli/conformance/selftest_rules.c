// SPDX-License-Identifier: BSD-3-Clause
/* Rules with known outcomes, for the tests of the runner, which run them by name. */
#include <stdlib.h>
#include <unistd.h>

#include "conformance.h"

static void holds(Test* t) {
    EQUAL(t, 1, 1);
}

static void is_wrong_on_one_rank(Test* t) {
    CHECK(t, t->rank != t->size - 1, "reported by the last rank only");
}

static void is_unavailable(Test* t) {
    unavailable(t, "not available here");
}

static void crashes(Test* t) {
    if (t->rank == t->size - 1) {
        abort();
    }
    MPI_Barrier(t->comm);
}

static void hangs(Test* t) {
    if (t->rank == 0) {
        pause();
    }
    MPI_Barrier(t->comm);
}

/* clang-format off */
RULES(kSelfTestRules, {
    {"0", "selftest-ok", "this holds", "open", holds, 1, kSelfTest, NULL},
    {"0", "selftest-wrong", "this is wrong", "open", is_wrong_on_one_rank, 1, kSelfTest, NULL},
    {"0", "selftest-unavailable", "this is not available", "open", is_unavailable, 1, kSelfTest, NULL},
    {"0", "selftest-ranks", "this needs many ranks", "open", holds, 10000, kSelfTest, NULL},
    {"0", "selftest-crash", "this crashes", "open", crashes, 1, kSelfTest, NULL},
    {"0", "selftest-hang", "this hangs", "open", hangs, 1, kSelfTest, NULL},
    {"0", "selftest-last", "this holds after all that", "open", holds, 1, kSelfTest, NULL},
});
/* clang-format on */
