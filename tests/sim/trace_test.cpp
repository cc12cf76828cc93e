// SPDX-License-Identifier: BSD-3-Clause
// The trace of a file's accesses. It is valid JSON and contains each access of each rank once, with
// the phases of the access inside it, and the calls that move no data. A trace that cannot be
// written does not affect I/O.
#include <fcntl.h>
#include <sys/stat.h>

#include <thread>

#include "sim/traced.hpp"
#include "support/method_names.hpp"

namespace oratorio::test::trace_test {
namespace {

struct Times {
    double begin = 0;
    double end = 0;
};

Times times_of(const Json& event) {
    return {event.at("ts").get<double>(),
            event.at("ts").get<double>() + event.at("dur").get<double>()};
}

/// Tolerance in comparisons of times, in microseconds: a trace rounds them to thousandths.
constexpr double kRounding = 0.0015;

bool holds(const Times& outer, const Times& inner) {
    return outer.begin <= inner.begin + kRounding && inner.end <= outer.end + kRounding;
}

/// Returns the spans in `category` that belong to the access: those of the same process, file and
/// access number.
Events spans_of(const Json& trace, const Json& access, const std::string& category) {
    Events found;
    for (const Json& event : events_of(trace, "cat", category)) {
        const bool same = event.at("pid").get<long long>() == access.at("pid").get<long long>() &&
                          event.at("args").at("file").get<long long>() ==
                              access.at("args").at("file").get<long long>() &&
                          event.at("args").at("access").get<long long>() ==
                              access.at("args").at("access").get<long long>();
        if (same) found.push_back(event);
    }
    return found;
}

/// Expects that any two spans of one track are disjoint, or that one contains the other.
void expect_nested(const Json& trace) {
    std::map<std::pair<long long, long long>, std::vector<Times>> tracks;
    for (const Json& event : events_of(trace, "ph", "X"))
        tracks[{event.at("pid").get<long long>(), event.at("tid").get<long long>()}].push_back(
            times_of(event));
    for (const auto& [track, all] : tracks)
        for (const Times& one : all)
            for (const Times& other : all)
                EXPECT_TRUE(one.end <= other.begin + kRounding ||
                            other.end <= one.begin + kRounding || holds(one, other) ||
                            holds(other, one))
                    << one.begin << "-" << one.end << " and " << other.begin << "-" << other.end;
}

/// Expects no thread with the number 0 or the number of its process, because viewers merge such
/// threads into one.
void expect_apart(const Json& trace) {
    for (const Json& event : events_of(trace, "ph", "X")) {
        EXPECT_NE(event.at("tid"), 0);
        EXPECT_NE(event.at("tid"), event.at("pid"));
    }
}

void expect_sound(const Json& trace) {
    expect_nested(trace);
    expect_apart(trace);
    for (const Json& access : events_of(trace, "cat", "access")) {
        double phases = 0;
        for (const char* category : {"phase", "round", "detail"}) {
            for (const Json& span : spans_of(trace, access, category)) {
                EXPECT_TRUE(holds(times_of(access), times_of(span)))
                    << span.at("name").get<std::string>();
                if (span.at("cat").get<std::string>() == "phase")
                    phases += span.at("dur").get<double>();
            }
        }
        EXPECT_LE(phases, access.at("dur").get<double>() + 10 * kRounding);
    }
    for (const Json& end : events_of(trace, "name", "oratorio_end")) {
        const long long file = end.at("args").at("file").get<long long>();
        std::map<std::string, long long> events;
        for (const Json& event : events_of(trace, "ph", "X")) {
            if (event.at("args").at("file").get<long long>() != file) continue;
            const auto category = event.at("cat").get<std::string>();
            ++events[category == "access" || category == "call" ? category : "span"];
        }
        EXPECT_EQ(end.at("args").at("accesses").get<long long>(), events["access"]);
        EXPECT_EQ(end.at("args").at("spans").get<long long>(), events["span"]);
        EXPECT_EQ(end.at("args").at("calls").get<long long>(), events["call"]);
    }
}

TEST(Trace, HasEachAccessOfEachRankOnceAndItsPhasesInIt) {
    for (const int ranks : kRankCounts) {
        SCOPED_TRACE(ranks);
        const Folder folder;
        const OpenCall call =
            traced(folder, folder.file("trace"), {{"oratorio_method", "two_phase"}});
        with_file(ranks, call, [&](File& file, Rank rank) {
            set_interleaved_view(file, rank, ranks);
            for (int i = 0; i < 3; ++i) move(file, Direction::write, true, 4 * kBlock, 256 * i);
            move(file, Direction::read, false, 2 * kBlock, 0);
            move(file, Direction::read, true, 12 * kBlock, 0);
        });
        const Json trace = read_trace(folder);
        expect_sound(trace);
        std::map<long long, int> accesses_of;
        std::map<long long, int> ranks_of;
        for (const Json& access : events_of(trace, "cat", "access")) {
            const Json& args = access.at("args");
            EXPECT_EQ(args.at("access").get<long long>(),
                      accesses_of[args.at("rank").get<long long>()]++);
            EXPECT_EQ(args.at("asked").get<long long>(), args.at("moved").get<long long>());
            if (!args.contains("collective")) continue;
            ++ranks_of[args.at("collective").get<long long>()];
            EXPECT_EQ(args.at("method").get<std::string>(), "two_phase");
            EXPECT_GE(spans_of(trace, access, "phase").size(), 3u) << "planning, working, agreeing";
        }
        EXPECT_EQ(std::ssize(accesses_of), ranks);
        for (const auto& [rank, count] : accesses_of) EXPECT_EQ(count, 5) << rank;
        EXPECT_EQ(ranks_of.size(), 4u);
        for (const auto& [number, count] : ranks_of) EXPECT_EQ(count, ranks) << number;
        EXPECT_FALSE(events_of(trace, "name", "storing").empty());
        EXPECT_EQ(events_of(trace, "name", "message").empty(), ranks == 1);
    }
}

TEST(Trace, IsValidForEveryMethod) {
    constexpr int kRanks = 4;
    for (const std::string& method : method_names()) {
        SCOPED_TRACE(method);
        const Folder folder;
        OpenCall call = traced(folder, folder.file("trace"),
                               {{"oratorio_method", method}, {"cb_buffer_size", "65536"}});
        call.inline_agents = true;
        with_file_on_node(kRanks, call, [](File& file, Rank rank) {
            set_interleaved_view(file, rank, kRanks);
            for (const Direction direction : {Direction::write, Direction::read})
                for (int i = 0; i < 2; ++i) move(file, direction, true, 512 * kBlock, 0);
        });
        const Json trace = read_trace(folder);
        expect_sound(trace);
        const Events accesses = events_of(trace, "cat", "access");
        EXPECT_EQ(accesses.size(), 4u * kRanks);
        for (const Json& access : accesses) {
            EXPECT_EQ(access.at("args").at("moved").get<long long>(), 512 * kBlock);
            EXPECT_GE(spans_of(trace, access, "phase").size(), 2u) << "a kept plan takes no time";
            EXPECT_TRUE(access.at("args").contains("method"));
        }
    }
}

TEST(Trace, RecordsEachAccessAndItsTimes) {
    const Folder folder;
    with_file(2, traced(folder, folder.file("trace"), {{"oratorio_method", "two_phase"}}),
              [](File& file, Rank rank) {
                  set_interleaved_view(file, rank, 2);
                  move(file, Direction::write, true, 4 * kBlock, 64);
                  EXPECT_EQ(file.stats().bytes_moved, 256u);
              });
    const Json trace = read_trace(folder);
    const Events accesses = events_of(trace, "cat", "access");
    ASSERT_EQ(accesses.size(), 2u);
    const Json& args = accesses[1].at("args");
    EXPECT_EQ(args.at("rank").get<long long>(), 1);
    EXPECT_EQ(args.at("direction").get<std::string>(), "write");
    EXPECT_EQ(args.at("asked").get<long long>(), 256);
    EXPECT_EQ(args.at("from").get<long long>(), 64);
    EXPECT_EQ(args.at("pieces").get<long long>(), 4);
    EXPECT_EQ(args.at("memory_pieces").get<long long>(), 1);
    EXPECT_EQ(args.at("participants").get<long long>(), 2);
    EXPECT_EQ(args.at("hull")[0].get<long long>(), 192);
    EXPECT_EQ(args.at("hull")[1].get<long long>(), 640);
    const Json& view = args.at("view");
    EXPECT_EQ(view.at("displacement").get<long long>(), 64);
    EXPECT_EQ(view.at("extent").get<long long>(), 128);
    EXPECT_EQ(view.at("block").get<long long>(), 64);
    EXPECT_TRUE(view.at("tiles").is_null());
    EXPECT_TRUE(view.at("levels").empty());
    EXPECT_EQ(args.at("counts").at("bytes_moved").get<long long>(), 256);
    EXPECT_EQ(args.at("counts").at("plans").get<long long>(), 1);

    const Events files = events_of(trace, "name", "oratorio_file");
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].at("args").at("path").get<std::string>(), folder.file("data"));
    EXPECT_EQ(files[0].at("args").at("ranks").get<long long>(), 2);
    EXPECT_EQ(files[0].at("args").at("hints").at("oratorio_method").get<std::string>(),
              "two_phase");
    ASSERT_EQ(files[0].at("args").at("placement").size(), 1u);
    EXPECT_EQ(files[0].at("args").at("placement")[0][1].get<long long>(), 2);
}

TEST(Trace, AccessesThatNeedNoPlanAreRecordedToo) {
    const Folder folder;
    with_file(1, traced(folder, folder.file("trace")), [](File& file, Rank) {
        move(file, Direction::write, false, 100, 0);
        std::vector<std::byte> mine(10);
        const OperationPtr started = file.start(call_for(Direction::read, mine, false));
        EXPECT_EQ(file.finish(started).bytes, 10);
        std::vector<std::byte> odd(10);
        AccessCall refused = call_for(Direction::read, odd, false);
        refused.refused = Error::make(ErrorKind::buffer, "none");
        EXPECT_EQ(file.access(refused).error.kind, ErrorKind::buffer);
    });
    const Json trace = read_trace(folder);
    const Events accesses = events_of(trace, "cat", "access");
    ASSERT_EQ(accesses.size(), 3u);
    EXPECT_FALSE(accesses[0].at("args").contains("method"));
    EXPECT_EQ(accesses[0].at("args").at("counts").at("storage_calls").get<long long>(), 1);
    EXPECT_FALSE(accesses[0].at("args").contains("started"));
    EXPECT_TRUE(accesses[1].at("args").at("started").get<bool>());
    EXPECT_EQ(accesses[2].at("args").at("error").get<std::string>(), "invalid buffer");
    EXPECT_EQ(accesses[2].at("args").at("moved").get<long long>(), 0);
    expect_sound(trace);
}

TEST(Trace, AccessesUnderWayTogetherAreOnTracksOfTheirOwn) {
    const Folder folder;
    with_file(2, traced(folder, folder.file("trace"), {{"oratorio_method", "two_phase"}}),
              [](File& file, Rank rank) {
                  std::vector<std::byte> mine(3 * 1000, std::byte{'x'});
                  std::vector<OperationPtr> all;
                  for (int i = 0; i < 3; ++i) {
                      std::vector<std::byte> part(1000);
                      AccessCall call =
                          call_for(Direction::write, part, true, Positioning::explicit_offset,
                                   2000 * i + 1000 * rank);
                      call.buffer = mine.data() + 1000 * i;
                      all.push_back(file.start(call));
                  }
                  for (const auto& one : all) EXPECT_EQ(file.finish(one).bytes, 1000);
              });
    const Json trace = read_trace(folder);
    expect_sound(trace);
    std::map<long long, std::set<long long>> tracks;
    for (const Json& access : events_of(trace, "cat", "access"))
        tracks[access.at("pid").get<long long>()].insert(access.at("tid").get<long long>());
    for (const long long rank : {0, 1}) EXPECT_EQ(tracks[rank].size(), 3u);
}

TEST(Trace, FilesOfARunAreSectionsOfOneTrace) {
    const Folder folder;
    for (int i = 0; i < 3; ++i) {
        with_file(2, traced(folder, folder.file("trace")), [](File& file, Rank rank) {
            move(file, Direction::write, true, 100, 100 * rank);
        });
    }
    const Json trace = read_trace(folder);
    expect_sound(trace);
    EXPECT_EQ(events_of(trace, "name", "oratorio_file").size(), 3u);
    EXPECT_EQ(events_of(trace, "cat", "access").size(), 6u);
}

TEST(Trace, KeepsTheSectionsOfTheJobThatSpawnedTheProcess) {
    const Folder folder;
    OpenCall call = traced(folder, folder.file("trace"));
    const auto files_after_one_more = [&](bool spawned) {
        call.trace.spawned = spawned;
        with_file(2, call, [](File&, Rank) {});
        const std::size_t found = events_of(read_trace(folder), "name", "oratorio_file").size();
        const timespec long_ago[] = {{0, 0}, {0, 0}};
        EXPECT_EQ(::utimensat(AT_FDCWD, call.trace.path.c_str(), long_ago, 0), 0);
        return found;
    };
    EXPECT_EQ(files_after_one_more(false), 1U);
    EXPECT_EQ(files_after_one_more(true), 2U);
    EXPECT_EQ(files_after_one_more(false), 1U);
}

TEST(Trace, IsOnlyWrittenWhereAllRanksWantIt) {
    const Folder folder;
    on_ranks(3, [&](Transport& transport) {
        OpenCall call = call_of(folder.file("data"), kCreate);
        if (transport.topology().rank != 2) call.trace.path = folder.file("trace");
        auto file = open_on(transport, call);
        move(**file, Direction::write, true, 8, 8 * transport.topology().rank);
        EXPECT_EQ((*file)->stats().wait_time, 0u);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        return 0;
    });
    EXPECT_FALSE(folder.has("trace"));
}

TEST(Trace, AnUnwritableTraceIsReportedOnceWithoutHarmToTheFile) {
    const Folder folder;
    for (const std::string& path : {std::string("/dev/full"), folder.file("."),
                                    folder.file("no/folder"), folder.make("text", "mine")}) {
        SCOPED_TRACE(path);
        std::vector<std::string> said;
        OpenCall call = traced(folder, path);
        call.trace.complain = [&said](const std::string& text) { said.push_back(text); };
        with_file(3, call, [](File& file, Rank rank) {
            move(file, Direction::write, true, 100, 100 * rank);
            move(file, Direction::read, true, 300, 0);
        });
        ASSERT_EQ(said.size(), 1u);
        EXPECT_TRUE(said[0].starts_with("ORATORIO_TRACE: ")) << said[0];
        EXPECT_NE(said[0].find(path), std::string::npos) << said[0];
        EXPECT_EQ(said[0].find("MPI_MODE"), std::string::npos) << said[0];
        EXPECT_EQ(folder.read("data").size(), 300u);
    }
    EXPECT_EQ(folder.read("text"), "mine");
}

/// Returns the names of one rank's calls, in the order in which they were recorded.
std::vector<std::string> calls_of(const Json& trace, Rank rank) {
    std::vector<std::string> names;
    for (const Json& event : events_of(trace, "cat", "call"))
        if (event.at("args").at("rank").get<Rank>() == rank)
            names.push_back(event.at("name").get<std::string>());
    return names;
}

/// Returns the time in the calls and accesses of one rank, and the time from the beginning of the
/// first to the end of the last, in microseconds.
std::pair<double, double> spent_in_calls(const Json& trace, Rank rank) {
    double inside = 0;
    double first = 0;
    double last = 0;
    for (const char* const category : {"call", "access"})
        for (const Json& event : events_of(trace, "cat", category)) {
            if (event.at("args").at("rank").get<Rank>() != rank) continue;
            const Times times = times_of(event);
            first = inside > 0 ? std::min(first, times.begin) : times.begin;
            last = std::max(last, times.end);
            inside += times.end - times.begin;
        }
    return {inside, last - first};
}

TEST(Trace, HasEachCallWithoutTheTimeOutsideOfCalls) {
    using namespace std::chrono_literals;
    constexpr int kRanks = 3;
    constexpr auto kOwnWork = 20ms;
    const Folder folder;
    with_file(kRanks, traced(folder, folder.file("trace")), [&](File& file, Rank rank) {
        std::this_thread::sleep_for(kOwnWork);
        set_interleaved_view(file, rank, kRanks);
        move(file, Direction::write, true, 4 * kBlock, 0);
        std::this_thread::sleep_for(kOwnWork);
        EXPECT_TRUE(file.preallocate(1 << 12));
        EXPECT_TRUE(file.set_size(1 << 10));
        EXPECT_TRUE(file.sync());
        std::this_thread::sleep_for(kOwnWork);
    });
    const Json trace = read_trace(folder);
    expect_sound(trace);
    const std::vector<std::string> calls{"open",     "set_view", "preallocate",
                                         "set_size", "sync",     "close"};
    for (Rank rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(calls_of(trace, rank), calls) << rank;
        const auto [inside, whole] = spent_in_calls(trace, rank);
        EXPECT_GT(inside, 0);
        EXPECT_LE(inside, whole - 3 * 20'000 + 1) << rank;
    }
    const Events end = events_of(trace, "name", "oratorio_end");
    EXPECT_EQ(end.at(0).at("args").at("calls").get<std::size_t>(), kRanks * calls.size());
    EXPECT_EQ(end.at(0).at("args").at("dropped_calls").get<int>(), 0);
}

TEST(Trace, AnOpenBeginsWhenTheProgramCallsIt) {
    constexpr Nanoseconds kBefore = 5'000'000'000;
    const Folder folder;
    OpenCall call = traced(folder, folder.file("trace"));
    call.trace.began = Recorder::now() - kBefore;
    with_file(1, call, [&](File& file, Rank) { move(file, Direction::write, false, 1, 0); });
    const Events open = events_of(read_trace(folder), "name", "open");
    ASSERT_EQ(open.size(), 1u);
    EXPECT_GE(open[0].at("dur").get<double>(), 5e6);
}

TEST(Trace, KeepsTheCloseWhenThereAreTooManyCalls) {
    const Folder folder;
    const auto most = Recorder::limits_for(1).accesses;
    with_file(1, traced(folder, folder.file("trace")), [&](File& file, Rank) {
        for (std::size_t i = 0; i < most + 6; ++i) set_interleaved_view(file, 0, 1);
    });
    const Json trace = read_trace(folder);
    const auto calls = calls_of(trace, 0);
    ASSERT_EQ(calls.size(), most + 1);
    EXPECT_EQ(calls.front(), "open");
    EXPECT_EQ(calls.back(), "close");
    const Events end = events_of(trace, "name", "oratorio_end");
    EXPECT_EQ(end.at(0).at("args").at("dropped_calls").get<int>(), 7);
}

TEST(Trace, CountsRecordsBeyondTheLimit) {
    const Folder folder;
    const auto most = Recorder::limits_for(1).accesses;
    with_file(1, traced(folder, folder.file("trace")), [&](File& file, Rank) {
        for (std::size_t i = 0; i < most + 7; ++i) move(file, Direction::write, false, 1, 0);
    });
    const Json trace = read_trace(folder);
    EXPECT_EQ(events_of(trace, "cat", "access").size(), most);
    const Events dropped = events_of(trace, "name", "oratorio_dropped");
    ASSERT_EQ(dropped.size(), 1u);
    EXPECT_EQ(dropped[0].at("args").at("accesses").get<long long>(), 7);
    EXPECT_EQ(dropped[0].at("args").at("spans").get<long long>(), 0)
        << "those of accesses that are kept";
    const Events end = events_of(trace, "name", "oratorio_end");
    EXPECT_EQ(end.at(0).at("args").at("dropped_accesses").get<long long>(), 7);
}

TEST(Trace, TheClocksOfNodesAreCompared) {
    const Folder folder;
    SimOptions options;
    options.ranks = 5;
    options.node_of = {0, 1, 0, 2, 1};
    run_ranks(options, [&](Transport& transport) {
        auto file = open_on(transport, traced(folder, folder.file("trace")));
        move(**file, Direction::write, true, 100, 100 * transport.topology().rank);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    const Json trace = read_trace(folder);
    expect_sound(trace);
    const Events files = events_of(trace, "name", "oratorio_file");
    const auto& nodes = files.at(0).at("args").at("nodes");
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_EQ(nodes[0].at("within_ns").get<long long>(), 0);
    for (const Json& node : nodes) {
        // All simulated nodes share one clock, so that the clocks must agree.
        EXPECT_LE(std::abs(node.at("clock_ahead_ns").get<long long>()),
                  node.at("within_ns").get<long long>());
        EXPECT_LT(node.at("within_ns").get<long long>(), 1'000'000'000);
    }
    EXPECT_EQ(files[0].at("args").at("placement").size(), 5u);
}

}  // namespace
}  // namespace oratorio::test::trace_test
