// SPDX-License-Identifier: BSD-3-Clause
// `auto` learns from the times of accesses. The clock of the simulated ranks is the test's own.
#include "plan/learning.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <numeric>
#include <set>

#include "plan/learning_text.hpp"
#include "plan/methods.hpp"
#include "sim/file_ranks.hpp"

namespace oratorio::test::learning_test {
namespace {

constexpr Bytes kPiece = 4096;
constexpr Bytes kPieces = 64;
constexpr int kRanksOfNode = 4;

/// Reads the clock of all simulated ranks, which run in one thread at a time. Each reading advances
/// the clock by 0.1 s.
std::int64_t look_at_clock() {
    static std::int64_t now = 0;
    return now += 100'000'000;
}

/// Reads a clock that advances by an irregular amount at each reading, so that ranks measure
/// different times, and only values on which they agree can keep them together.
std::int64_t look_at_wild_clock() {
    static std::uint64_t state = 1;
    static std::int64_t now = 0;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return now += static_cast<std::int64_t>(state >> 44);
}

AccessCall call_on(std::vector<std::byte>& memory, Direction direction) {
    AccessCall call;
    call.collective = true;
    call.at = Positioning::explicit_offset;
    call.direction = direction;
    call.memory = Layout{Shape::run(std::ssize(memory)), std::ssize(memory), 0, 1};
    call.buffer = memory.data();
    return call;
}

/// Writes and reads interleaved pieces several times, and compares all bytes.
void use(File& file, int times) {
    const Topology& topology = file.transport().topology();
    const auto view = View::make(kPiece * topology.rank, 1, Shape::run(kPiece),
                                 kPiece * topology.size, true, "native");
    ASSERT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
    for (int i = 0; i < times; ++i) {
        std::vector<std::byte> mine(kPiece * kPieces, std::byte(i * 16 + topology.rank));
        std::vector<std::byte> back(mine.size());
        EXPECT_EQ(file.access(call_on(mine, Direction::write)).error.kind, ErrorKind::none);
        EXPECT_EQ(file.access(call_on(back, Direction::read)).error.kind, ErrorKind::none);
        EXPECT_EQ(back, mine) << "access " << i;
    }
}

OpenCall learning_call(const std::string& path, const HintMap& hints = {}) {
    OpenCall call = call_of(path, kCreate, hints);
    call.clock = look_at_clock;
    return call;
}

std::shared_ptr<Workspace> workspace_of(Transport& transport) {
    auto ranks = NodeTransport::over(std::make_unique<Lent>(transport));
    EXPECT_TRUE(ranks.ok());
    return std::make_shared<Workspace>(std::move(*ranks));
}

/// Returns the number of arms with times, of all kinds.
std::size_t arms_tried(const LearnedTimes& learned) {
    std::size_t count = 0;
    for (const KindTimes& kind : learned.kinds())
        count += static_cast<std::size_t>(
            std::ranges::count_if(kind.arms, [](const ArmTimes& one) { return one.measured(); }));
    return count;
}

TEST(LearningFile, all_ranks_learn_the_same_from_each_access) {
    std::size_t most = 0;  // largest number of arms with times; a change of speed clears the times
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Folder folder;
        std::set<std::string> tables;
        run_ranks({.ranks = 4, .seed = seed}, [&](Transport& transport) {
            const auto workspace = workspace_of(transport);
            OpenCall call = learning_call(folder.file("data"));
            call.clock = look_at_wild_clock;
            auto file = File::open(workspace, call);
            ASSERT_EQ(kind_of(file), ErrorKind::none);
            use(**file, 30);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            tables.insert(to_text(workspace->learned));
            EXPECT_EQ(workspace->learned.kinds().size(), 2U);
            for (const KindTimes& kind : workspace->learned.kinds())
                EXPECT_EQ(kind.spent.accesses, 30U);
            most = std::max(most, arms_tried(workspace->learned));
        });
        EXPECT_EQ(tables.size(), 1U) << "seed " << seed;
    }
    EXPECT_GT(most, 2U);
}

/// A store whose writes fail while `*failing` is true.
class FailingStore final : public MemoryStore {
  public:
    FailingStore(MemoryDisk& disk, const bool* failing) : MemoryStore(disk), failing_(failing) {}
    Submitted submit(const IoRequest& request) override {
        if (!*failing_ || request.direction != Direction::write)
            return MemoryStore::submit(request);
        if (refused_) return Submitted::full;
        refused_ = IoCompletion{request.token, 0, ENOSPC};
        return Submitted::done;
    }
    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        if (!refused_ || out.empty()) return MemoryStore::reap(out, wait);
        out[0] = *refused_;
        refused_.reset();
        return 1;
    }

  private:
    const bool* failing_;
    std::optional<IoCompletion> refused_;
};

/// Returns the name of the method that the next write of a known kind uses; "" if none is known.
std::string next_method(const LearnedTimes& learned) {
    for (const KindTimes& kind : learned.kinds())
        if (kind.kind.direction == Direction::write && kind.next.method != nullptr)
            return std::string(kind.next.method->name);
    return "";
}

/// Writes pieces `times` times and reads them back. The pieces of a node's ranks interleave. The
/// storage fails in every other write. Returns the methods of those writes.
std::set<std::string> write_with_failures(File& file, const Workspace& workspace, bool& failing,
                                          int times) {
    constexpr Bytes kSmallPiece = 64;  // so small that methods with messages are worth trying
    const Topology& topology = file.transport().topology();
    const Rank of_node = topology.rank % kRanksOfNode;
    const Offset begin = (topology.rank - of_node) * kPiece * kPieces + of_node * kSmallPiece;
    const auto view =
        View::make(begin, 1, Shape::run(kSmallPiece), kSmallPiece * kRanksOfNode, true, "native");
    EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
    std::set<std::string> failed;
    for (int i = 0; i < times; ++i) {
        failing = i % 2 == 1;
        if (failing) failed.insert(next_method(workspace.learned));
        std::vector<std::byte> mine(kPiece * kPieces, std::byte(i * 16 + topology.rank));
        std::vector<std::byte> back(mine.size());
        const auto outcome = file.access(call_on(mine, Direction::write));
        EXPECT_EQ(outcome.error.kind, failing ? ErrorKind::no_space : ErrorKind::none);
        EXPECT_EQ(file.access(call_on(back, Direction::read)).error.kind, ErrorKind::none);
        EXPECT_TRUE(failing || back == mine) << "access " << i;
    }
    return failed;
}

TEST(LearningFile, a_failing_disk_is_reported_by_each_method_that_is_tried_between_nodes) {
    std::set<std::string> failed;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        MemoryDisk disk;
        std::array<bool, 2 * kRanksOfNode> failing{};
        std::set<std::string> tables;
        run_ranks({.ranks = 2 * kRanksOfNode, .seed = seed, .ranks_per_node = kRanksOfNode},
                  [&](Transport& transport) {
                      const auto workspace = workspace_of(transport);
                      bool& mine = failing[static_cast<std::size_t>(transport.topology().rank)];
                      OpenCall call = learning_call("data");
                      call.clock = look_at_wild_clock;
                      call.open_store = [&](const std::string&, const OpenMode&) {
                          return Result<std::unique_ptr<Store>>(
                              std::make_unique<FailingStore>(disk, &mine));
                      };
                      auto file = File::open(workspace, call);
                      ASSERT_EQ(kind_of(file), ErrorKind::none);
                      failed.merge(write_with_failures(**file, *workspace, mine, 40));
                      mine = false;
                      EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
                      tables.insert(to_text(workspace->learned));
                  });
        EXPECT_EQ(tables.size(), 1U) << "seed " << seed;
    }
    EXPECT_TRUE(failed.contains("two_layer_shared"));
    EXPECT_TRUE(failed.contains("two_layer_shared_overlapped"));
}

/// Counts the messages and collectives that a rank starts.
class CountedTransport final : public Lent {
  public:
    CountedTransport(Transport& owner, int& started) : Lent(owner), started_(started) {}
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        ++started_;
        return Lent::send(to, tag, data);
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        ++started_;
        return Lent::reduce(values, op);
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        ++started_;
        return Lent::gather(mine, all);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        ++started_;
        return Lent::broadcast(root, data);
    }

  private:
    int& started_;
};

/// Returns how many messages and collectives a rank starts from open to close.
int started_with(Tuning::Clock clock) {
    const Folder folder;
    int started = 0;
    run_ranks({.ranks = 2}, [&](Transport& transport) {
        int mine = 0;
        OpenCall call = learning_call(folder.file("data"));
        call.clock = clock;
        auto ranks = std::make_unique<CountedTransport>(transport, mine);
        auto file = File::open(std::make_shared<Workspace>(std::move(ranks)), call);
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        use(**file, 1);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        if (transport.topology().rank == 0) started = mine;
    });
    return started;
}

TEST(LearningFile, the_end_of_an_access_carries_its_time_so_there_is_no_further_message) {
    const int without = started_with(nullptr);
    EXPECT_GT(without, 0);
    EXPECT_EQ(started_with(look_at_clock), without);
}

std::int64_t look_at_fast_clock() {
    static std::int64_t now = 0;
    return now += 1'000'000;
}

/// Returns the shortest time that was recorded while four ranks on one core used a file, in
/// seconds. Each look at the CPU clock advances it by 0.1 s, each look at the other clock by 1 ms.
double shortest_time(Tuning::Clock cpu_clock) {
    const Folder folder;
    double shortest = INFINITY;
    run_ranks({.ranks = 4}, [&](Transport& transport) {
        const auto workspace = workspace_of(transport);
        OpenCall call = learning_call(folder.file("data"));
        call.clock = look_at_fast_clock;
        call.cpu_clock = cpu_clock;
        auto file = File::open(workspace, call);
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        use(**file, 10);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        for (const KindTimes& kind : workspace->learned.kinds())
            for (const ArmTimes& arm : kind.arms)
                for (const double seconds : arm.seconds) shortest = std::min(shortest, seconds);
    });
    return shortest;
}

TEST(LearningFile, a_rank_that_enters_late_does_not_hide_the_work_of_ranks_on_the_same_core) {
    EXPECT_LT(shortest_time(nullptr), 0.1);
    // Four ranks with 0.1 s of work each take a core at least 0.4 s.
    const double with_cpu_time = shortest_time(look_at_clock);
    EXPECT_GE(with_cpu_time, 0.4);
    EXPECT_LT(with_cpu_time, INFINITY) << "no time was recorded";
}

TEST(LearningFile, the_hint_off_measures_nothing) {
    const Folder folder;
    run_ranks({.ranks = 2}, [&](Transport& transport) {
        const auto workspace = workspace_of(transport);
        auto file =
            File::open(workspace, learning_call(folder.file("data"), {{"oratorio_learn", "off"}}));
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        use(**file, 3);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        EXPECT_TRUE(workspace->learned.kinds().empty());
    });
}

TEST(LearningFile, later_files_go_on_where_earlier_ones_ended) {
    const Folder folder;
    run_ranks({.ranks = 2}, [&](Transport& transport) {
        const auto workspace = workspace_of(transport);
        for (int i = 0; i < 5; ++i) {
            auto file = File::open(workspace, learning_call(folder.file(std::to_string(i))));
            ASSERT_EQ(kind_of(file), ErrorKind::none);
            use(**file, 1);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        }
        for (const KindTimes& kind : workspace->learned.kinds()) EXPECT_EQ(kind.spent.accesses, 5U);
    });
}

/// Opens, uses and closes a file, as a separate job does.
void run_job(const Folder& folder, const std::string& path, int times, const HintMap& hints = {}) {
    LearnedFile kept(path);
    run_ranks({.ranks = 2}, [&](Transport& transport) {
        OpenCall call = learning_call(folder.file("data"), hints);
        call.learned_file = &kept;
        auto file = File::open(workspace_of(transport), call);
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        use(**file, times);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
}

std::uint64_t accesses_in(const std::string& path) {
    const auto text = LearnedFile(path).of_earlier_jobs();
    const auto times = text ? parse_learned(*text) : std::nullopt;
    return times && !times->kinds().empty() ? times->kinds().front().spent.accesses : 0;
}

TEST(LearningFile, later_jobs_begin_with_the_times_of_earlier_ones) {
    const Folder folder;
    const std::string kept = folder.file("state/oratorio/learned.txt");
    run_job(folder, kept, 3);
    EXPECT_EQ(accesses_in(kept), 3U);
    run_job(folder, kept, 4);
    EXPECT_EQ(accesses_in(kept), 7U);
    run_job(folder, kept, 5, {{"oratorio_learn", "job"}});
    EXPECT_EQ(accesses_in(kept), 7U);
}

TEST(LearningFile, a_job_of_few_milliseconds_keeps_nothing) {
    const Folder folder;
    LearnedFile kept(folder.file("learned.txt"));
    run_ranks({.ranks = 2}, [&](Transport& transport) {
        OpenCall call = learning_call(folder.file("data"));
        call.clock = [] {
            static std::int64_t now = 0;
            return now += 1000;
        };
        call.learned_file = &kept;
        auto file = File::open(workspace_of(transport), call);
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        use(**file, 3);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_FALSE(folder.has("learned.txt"));
}

TEST(LearningFile, a_malformed_file_is_replaced_and_does_no_harm) {
    for (const std::string& content :
         {std::string("nonsense"), std::string("oratorio-learned 1\n"),
          std::string("oratorio-learned 2\naccess write 1 2\n"), std::string(2 << 20, 'x')}) {
        const Folder folder;
        const std::string kept = folder.make("learned.txt", content);
        run_job(folder, kept, 2);
        EXPECT_EQ(accesses_in(kept), 2U);
    }
}

TEST(LearningFile, the_error_of_a_damaged_file_says_what_becomes_of_it) {
    const Folder folder;
    const auto text = LearnedFile(folder.make("learned.txt", "nonsense")).of_earlier_jobs();
    ASSERT_FALSE(text);
    EXPECT_EQ(describe(text.error(), "f", Subject::other),
              "error, f: the file is damaged or was written by another version; it is replaced "
              "when times are next kept");
}

TEST(LearningFile, a_folder_that_can_not_be_made_does_no_harm) {
    const Folder folder;
    folder.make("state", "a file in place of the folder");
    const std::string kept = folder.file("state/oratorio/learned.txt");
    run_job(folder, kept, 2);
    EXPECT_EQ(accesses_in(kept), 0U);

    LearnedTimes learned;
    const std::vector<ArmEstimate> arms{{{.method = find_method("double_buffer")}, 0.5, 2}};
    learned.record(learned.trial(AccessKind{}, arms), 1);
    const auto refused = LearnedFile(kept).merge(learned);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().system_errno, ENOTDIR);
    EXPECT_EQ(std::string(refused.error().what),
              "creating or opening the file's folder; set XDG_STATE_HOME to a folder that you can "
              "write to");
}

TEST(LearningFile, the_same_text_comes_back_from_the_parser) {
    LearnedTimes learned;
    const Method& method = *find_method("double_buffer");
    const std::vector<ArmEstimate> arms{
        {{.method = &method}, 0.5, 2},
        {{.method = &method, .aggregators = 4, .slots = 2, .domains = DomainsChoice::stripes},
         0.6,
         2}};
    AccessKind kind;
    kind.direction = Direction::write;
    kind.ranks = 7;
    kind.options = UINT64_MAX;
    for (int i = 0; i < 20; ++i) learned.record(learned.trial(kind, arms), 0.1 * (i + 1));
    const auto parsed = parse_learned(to_text(learned));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(to_text(*parsed), to_text(learned));
    EXPECT_TRUE(for_ranks(*parsed, 6).kinds().empty());
    EXPECT_EQ(for_ranks(*parsed, 7).kinds().size(), 1U);
}

/// Returns the arms of `double_buffer` with these numbers of aggregators.
std::vector<ArmEstimate> arms_with(int first, int last) {
    std::vector<ArmEstimate> arms;
    for (int one = first; one <= last; ++one)
        arms.push_back({{.method = find_method("double_buffer"), .aggregators = one}, 0.5, 2});
    return arms;
}

/// Returns the numbers of aggregators of all arms of the first kind.
std::vector<int> numbers_of(const LearnedTimes& learned) {
    std::vector<int> numbers;
    for (const ArmTimes& one : learned.kinds().front().arms)
        numbers.push_back(one.of.arm.aggregators);
    return numbers;
}

std::vector<int> numbers(int first, int last) {
    std::vector<int> all(static_cast<std::size_t>(last - first + 1));
    std::iota(all.begin(), all.end(), first);
    return all;
}

TEST(LearningFile, has_as_many_arms_as_are_kept_those_of_the_latest_accesses) {
    LearnedTimes learned;
    for (const int first : {1, 6, 11})
        learned.record(learned.trial({}, arms_with(first, first + 7)), 1);
    EXPECT_EQ(numbers_of(learned), numbers(3, 18));
    const auto parsed = parse_learned(to_text(learned));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(to_text(*parsed), to_text(learned));
}

TEST(LearningFile, takes_over_the_arms_of_a_later_job_and_drops_others) {
    LearnedTimes file;
    for (const int first : {1, 9}) file.record(file.trial({}, arms_with(first, first + 7)), 1);
    file.mark_saved();
    LearnedTimes job;
    job.record(job.trial({}, arms_with(15, 20)), 1);
    file.merge(job);
    EXPECT_EQ(numbers_of(file), numbers(5, 20));
    EXPECT_TRUE(parse_learned(to_text(file)));
}

TEST(LearningFile, with_more_arms_than_are_kept_is_read_without_the_last_ones) {
    LearnedTimes learned;
    learned.record(learned.trial({}, arms_with(1, 1)), 1);
    std::string text = to_text(learned);
    for (int one = 2; one <= 24; ++one)
        text += "arm double_buffer " + std::to_string(one) + " 0 auto 0.5 2 0 1.5\n";
    const auto parsed = parse_learned(text);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(numbers_of(*parsed), numbers(1, 16));
}

TEST(LearningFile, is_read_whatever_the_model_estimates) {
    LearnedTimes learned;
    auto arms = arms_with(1, 2);
    arms.back().seconds = 1e15;
    learned.record(learned.trial({}, arms), 1);
    const auto parsed = parse_learned(to_text(learned));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->kinds().front().arms.back().of.seconds, 1e9);
}

TEST(LearningFile, nodes_of_a_cluster_share_a_file) {
    EXPECT_EQ(learned_path("/s", "node0123"), learned_path("/s", "node0456"));
    EXPECT_EQ(learned_path("/s", "cn12-3.site"), "/s/oratorio/learned-cn.txt");
    EXPECT_EQ(learned_path("/s", "0123"), "/s/oratorio/learned-node.txt");
    EXPECT_EQ(learned_path("", "node"), "");
}

}  // namespace
}  // namespace oratorio::test::learning_test
