// SPDX-License-Identifier: BSD-3-Clause
#include "base/system_call.hpp"

#include <gtest/gtest.h>

namespace oratorio::test::system_call_test {
namespace {

TEST(SystemCall, ErrnoIsTakenOnlyWhereTheCallHasSetIt) {
    errno = EINTR;
    EXPECT_EQ(answer_of(5).error_number, 0);
    EXPECT_FALSE(answer_of(0).failed());
    EXPECT_EQ(answer_of(-1).error_number, EINTR);
    for (const std::int64_t strange : {-2L, -24L, -4996L, -(1L << 40)}) {
        EXPECT_TRUE(answer_of(strange).failed());
        EXPECT_EQ(answer_of(strange).error_number, kInvalidResult);
    }
}

TEST(SystemCall, AFailureWithoutAnErrorNumberIsAFailure) {
    errno = 0;
    EXPECT_TRUE(answer_of(-1).failed());
    EXPECT_EQ(answer_of(-1).error_number, kInvalidResult);
}

TEST(SystemCall, AnInterruptedCallIsRepeated) {
    int calls = 0;
    const Answer answer = uninterrupted([&] {
        errno = EINTR;
        return ++calls < 1000 ? -1 : 7;
    });
    EXPECT_EQ(answer.result, 7);
}

TEST(SystemCall, OneThatIsInterruptedAgainAndAgainFails) {
    int calls = 0;
    const Answer answer = uninterrupted([&] {
        ++calls;
        errno = EINTR;
        return -1;
    });
    EXPECT_EQ(answer.error_number, EINTR);
    EXPECT_EQ(calls, kInterruptionsMax);
    EXPECT_NE(describe(Error::of_errno("read", EINTR), "").find("100000 times"), std::string::npos);
}

TEST(SystemCall, AnInvalidResultIsNotRetriedForAnyErrno) {
    int calls = 0;
    const Answer answer = uninterrupted([&] {
        ++calls;
        errno = EINTR;
        return -4;
    });
    EXPECT_EQ(answer.error_number, kInvalidResult);
    EXPECT_EQ(calls, 1);
}

TEST(SystemCall, AnInvalidResultIsReportedAsSuch) {
    const Error error = Error::of_errno("read", kInvalidResult);
    EXPECT_EQ(error.kind, ErrorKind::io);
    const std::string text = describe(error, "/ceph/file");
    EXPECT_NE(text.find("neither a length nor an error"), std::string::npos) << text;
    EXPECT_EQ(text.find("Unknown"), std::string::npos) << text;
}

}  // namespace
}  // namespace oratorio::test::system_call_test
