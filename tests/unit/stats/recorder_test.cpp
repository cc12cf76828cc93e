// SPDX-License-Identifier: BSD-3-Clause
// Recorder: which accesses and spans a rank records for a trace, how many of them, and to which
// access a span belongs.
#include "stats/recorder.hpp"

#include <gtest/gtest.h>

namespace oratorio::test::recorder_test {
namespace {

constexpr Recorder::Limits kRoom{.accesses = 100, .spans = 100, .spans_of_access = 100};

Span span_of(Activity activity, Nanoseconds begin, Nanoseconds end, std::int64_t detail = 0) {
    return {.begin = begin, .end = end, .detail = detail, .activity = activity};
}

struct Recording {
    explicit Recording(const Recorder::Limits& limits = kRoom) : recorder(stats, limits) {
        stats.timed = true;
        stats.recorder = &recorder;
    }
    int begin(bool collective = true) {
        AccessRecord record;
        record.begin = Recorder::now();
        record.collective = collective ? 0 : -1;
        return recorder.begin(record);
    }
    void end(int access) { recorder.end(access, 8, ErrorKind::none); }
    [[nodiscard]] const AccessRecord& access(std::size_t number) const {
        return recorder.accesses().at(number);
    }
    Stats stats;
    Recorder recorder;
};

TEST(Recorder, CollectiveAccessesAreNumberedByThemselves) {
    Recording all;
    for (const bool collective : {true, false, true}) all.end(all.begin(collective));
    EXPECT_EQ(all.access(0).collective, 0);
    EXPECT_EQ(all.access(1).collective, -1);
    EXPECT_EQ(all.access(2).collective, 1);
    for (const AccessRecord& access : all.recorder.accesses()) {
        EXPECT_LE(access.begin, access.end);
        EXPECT_EQ(access.moved, 8);
        EXPECT_EQ(access.lane, 0);
    }
}

TEST(Recorder, CountsRecordsThatDoNotFit) {
    Recording all({.accesses = 2, .spans = 3, .spans_of_access = 2});
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(all.recorder.full());
        const int number = all.begin();
        EXPECT_EQ(number, i);
        // The spans are far apart, so that none is joined to the one before it.
        for (int j = 0; j < 3; ++j) {
            const Nanoseconds begin = 100'000 * j;
            all.recorder.add(span_of(Activity::storage, begin, begin + 10));
        }
        EXPECT_FALSE(all.recorder.idle());
        all.end(number);
        EXPECT_TRUE(all.recorder.idle());
    }
    EXPECT_TRUE(all.recorder.full());
    all.recorder.skip();
    EXPECT_EQ(all.recorder.accesses().size(), 2u);
    EXPECT_EQ(all.recorder.dropped_accesses(), 1u);
    EXPECT_EQ(all.recorder.spans().size(), 3u) << "two of the first access, one of the second";
    EXPECT_EQ(all.recorder.dropped_spans(), 3u);
}

TEST(Recorder, PhasesAreKeptWhereAnAccessHasTooManyDetails) {
    Recording all({.accesses = 1, .spans = 100, .spans_of_access = 2});
    const int number = all.begin();
    for (int j = 0; j < 10; ++j) {
        const Nanoseconds begin = 100'000 * j;
        all.recorder.add(span_of(Activity::copying, begin, begin + 10));
        all.recorder.add(span_of(Activity::storing, begin, begin + 20, j));
    }
    all.end(number);
    EXPECT_EQ(all.recorder.spans().size(), 12u);
    EXPECT_EQ(all.recorder.dropped_spans(), 8u);
}

TEST(Recorder, DetailsThatFollowOneAnotherCloselyAreOne) {
    Recording all;
    const int number = all.begin();
    all.recorder.add(span_of(Activity::message, 1000, 1000, 10));
    all.recorder.add(span_of(Activity::message, 1500, 1500, 20));
    all.recorder.add(span_of(Activity::copying, 1600, 1700));
    all.recorder.add(span_of(Activity::message, 1800, 1800, 30));
    all.recorder.add(span_of(Activity::message, 9000, 9000, 40));
    all.recorder.add(span_of(Activity::loading, 9001, 9002, 1));
    all.recorder.add(span_of(Activity::loading, 9003, 9004, 1));
    all.end(number);
    const auto& spans = all.recorder.spans();
    ASSERT_EQ(spans.size(), 6u);
    EXPECT_EQ(spans[0].joined, 2);
    EXPECT_EQ(spans[0].detail, 30);
    EXPECT_EQ(spans[0].begin, 1000);
    EXPECT_EQ(spans[0].end, 1500);
    EXPECT_EQ(spans[2].detail, 30) << "another kind lies between";
    EXPECT_EQ(spans[3].detail, 40) << "it is far behind";
    EXPECT_EQ(spans[5].joined, 1) << "each round is recorded";
}

TEST(Recorder, CountersBelongToTheAccessThatIsWorkedOn) {
    Recording all;
    all.stats.storage_calls = 100;
    const int first = all.begin();
    all.stats.storage_calls += 1;
    const int second = all.begin();
    all.stats.storage_calls += 10;
    all.recorder.work_for(first);
    all.stats.storage_calls += 2;
    all.end(first);
    all.stats.storage_calls += 1000;
    all.recorder.work_for(second);
    all.stats.storage_calls += 20;
    all.end(second);
    EXPECT_EQ(all.access(0).counts[Stats::row_storage_calls], 3u);
    EXPECT_EQ(all.access(1).counts[Stats::row_storage_calls], 30u);
}

TEST(Recorder, SpansOfADroppedAccessBelongToNoAccess) {
    Recording all;
    const int number = all.begin();
    const TracedAccess dropped(all.recorder);
    dropped.work();
    all.stats.storage_calls += 1;
    all.recorder.add(span_of(Activity::storage, 0, 1));
    dropped.end(8, ErrorKind::none);
    all.recorder.work_for(number);
    all.stats.storage_calls += 10;
    all.end(number);
    EXPECT_EQ(all.access(0).counts[Stats::row_storage_calls], 10u);
    EXPECT_TRUE(all.recorder.spans().empty());
}

TEST(Recorder, AccessesUnderWayTogetherHaveLanesOfTheirOwn) {
    Recording all;
    const int first = all.begin();
    const int second = all.begin();
    all.end(first);
    const int third = all.begin();
    all.end(second);
    all.end(third);
    EXPECT_EQ(all.access(0).lane, 0);
    EXPECT_EQ(all.access(1).lane, 1);
    EXPECT_EQ(all.access(2).lane, 0) << "the first had ended";
}

TEST(Recorder, ManyAccessesUnderWayShareTheLastLane) {
    Recording all;
    std::vector<int> numbers;
    for (int i = 0; i < 40; ++i) numbers.push_back(all.begin());
    EXPECT_EQ(all.access(30).lane, 30);
    EXPECT_EQ(all.access(39).lane, 31);
    for (const int number : numbers) all.end(number);
    all.end(all.begin());
    EXPECT_EQ(all.access(40).lane, 0);
}

TEST(Recorder, SpansOfNoAccessAreNotKept) {
    Recording all;
    all.recorder.add(span_of(Activity::storage, 0, 1));
    EXPECT_TRUE(all.recorder.spans().empty());
    EXPECT_EQ(all.recorder.dropped_spans(), 0u) << "a sync, say";
}

TEST(Recorder, TimesAndMessagesAreRecordedWhereTheyAreCounted) {
    Recording all;
    const int number = all.begin();
    { const Timing timing(&all.stats, &Stats::storage_time); }
    { const Timing timing(&all.stats, &Stats::access_time); }
    all.stats.count_message(77, false);
    { const Timing timing(&all.stats, &Stats::copy_time); }
    { const Timing timing(&all.stats, &Stats::wait_time); }
    all.end(number);
    const auto& spans = all.recorder.spans();
    ASSERT_EQ(spans.size(), 4u);
    const Activity activities[] = {Activity::storage, Activity::message, Activity::copying,
                                   Activity::waiting};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(spans[i].activity, activities[i]);
    EXPECT_EQ(spans[1].detail, 77);
    EXPECT_EQ(all.stats.message_bytes, 77u);
    EXPECT_EQ(all.access(0).counts[Stats::row_message_bytes], 77u);
}

TEST(Track, OneActivityFollowsTheOther) {
    Recording all;
    const int number = all.begin();
    Track track(all.stats, 3);
    track.enter(Activity::loading, 5);
    track.enter(Activity::loading, 5);
    track.enter(Activity::exchanging, 5);
    track.leave();
    track.leave();
    track.enter(Activity::loading, 6);
    track.leave();
    all.end(number);
    const auto& spans = all.recorder.spans();
    ASSERT_EQ(spans.size(), 3u);
    EXPECT_EQ(spans[0].end, spans[1].begin) << "no time between";
    EXPECT_LE(spans[1].end, spans[2].begin);
    EXPECT_EQ(spans[2].detail, 6);
    for (const Span& span : spans) EXPECT_EQ(span.lane, 3);
}

TEST(Track, NotifiesNobodyWithoutARecorder) {
    const Stats stats;
    Track track(stats);
    track.enter(Activity::loading);
    track.leave();
    const TracedAccess access;
    access.work();
    access.end(1, ErrorKind::none);
    EXPECT_EQ(access.number(), Recorder::nobody);
}

TEST(Recorder, RanksTogetherKeepNoMoreThanTheBound) {
    for (const int ranks : {1, 2, 100, 1000, 16384, 1 << 20}) {
        const auto limits = Recorder::limits_for(ranks);
        const auto all = static_cast<std::size_t>(std::min(ranks, 16384));
        EXPECT_LE(limits.spans * all, std::size_t{1} << 21) << ranks;
        EXPECT_LE(limits.accesses * all, std::size_t{1} << 17) << ranks;
        EXPECT_LE(limits.shape_numbers * static_cast<std::int64_t>(all), 1 << 24) << ranks;
        EXPECT_GE(limits.spans, 128u);
        EXPECT_GE(limits.accesses, 8u);
        EXPECT_LE(limits.spans * sizeof(Span) + limits.accesses * sizeof(AccessRecord), 2u << 20);
    }
}

TEST(Activities, HaveNamesAndCategories) {
    EXPECT_EQ(name_of(Activity::awaiting_turn), "awaiting_turn");
    EXPECT_EQ(category_of(Activity::awaiting_turn), "phase");
    EXPECT_EQ(category_of(Activity::storing), "round");
    EXPECT_EQ(category_of(Activity::message), "detail");
}

}  // namespace
}  // namespace oratorio::test::recorder_test
