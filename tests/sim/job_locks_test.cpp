// SPDX-License-Identifier: BSD-3-Clause
// Locks between nodes: which ones a handle takes, and that no byte is lost where those of the file
// system are visible on one node only (docs/decisions/0048-locks-of-the-job.md).
#include <map>
#include <optional>

#include "sim/file_ranks.hpp"
#include "support/memory_store.hpp"
#include "support/sim_locks.hpp"

namespace oratorio::test {
namespace {

constexpr int kRanks = 4;
/// No such folder, so no such file system: nothing is known of it.
constexpr const char* kPath = "/no such folder/data";

/// A file whose locks are known on one node each, or on all.
struct Cluster {
    bool locks_are_common = false;
    bool has_locks = true;
    MemoryDisk disk;
    std::map<int, MemoryDisk> locks;  ///< by node
    int probes = 0;                   ///< questions for bytes far behind the data
};

class ClusterStore final : public MemoryStore {
  public:
    ClusterStore(Cluster& cluster, int node, const std::function<void()>& others)
        : MemoryStore(cluster.disk, {.yields = true}, others),
          cluster_(cluster),
          locks_(cluster.locks[cluster.locks_are_common ? 0 : node], {}, others) {
        number_ = {.device = 1, .number = 2};
    }

    Result<void> lock(Extent range, bool lock, bool exclusive) override {
        if (!cluster_.has_locks) return Error::of_errno("lock", ENOLCK);
        return locks_.lock(range, lock, exclusive);
    }
    Result<bool> is_locked_elsewhere(Extent range) override {
        if (!cluster_.has_locks) return Error::of_errno("lock", ENOLCK);
        ++cluster_.probes;
        return locks_.is_locked_elsewhere(range);
    }
    Result<void> close() override {
        if (auto closed = MemoryStore::close(); !closed) return closed;
        return locks_.close();
    }

  private:
    Cluster& cluster_;
    MemoryStore locks_;
};

/// MPI_COMM_SELF.
class Alone final : public Lent {
  public:
    explicit Alone(Transport& rank) : Lent(rank) {}
    const Topology& topology() const override { return topology_; }
    Result<Ticket> reduce(std::span<std::uint64_t>, ReduceOp) override { return Ticket{0}; }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        std::ranges::copy(mine, all.begin());
        return Ticket{0};
    }
    Result<Ticket> broadcast(Rank, std::span<std::byte>) override { return Ticket{0}; }
    Result<Completion> test(Ticket) override { return Completion{true}; }
    Result<std::int64_t> fetch_add(std::int64_t by) override {
        return std::exchange(counter_, counter_ + by);
    }
    Result<void> set_counter(std::int64_t to) override {
        counter_ = to;
        return {};
    }

  private:
    Topology topology_;
    std::int64_t counter_ = 0;
};

/// Counts what a rank takes part in.
class Counting final : public Lent {
  public:
    Counting(Transport& owner, int& collectives, int& messages)
        : Lent(owner), collectives_(collectives), messages_(messages) {}
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        ++messages_;
        return Lent::send(to, tag, data);
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        ++collectives_;
        return Lent::reduce(values, op);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        ++collectives_;
        return Lent::broadcast(root, data);
    }

  private:
    int& collectives_;
    int& messages_;
};

/// One rank of the job, as a process is.
class Process {
  public:
    Process(Transport& ranks, Cluster& cluster, SimLocks& job)
        : ranks_(ranks),
          cluster_(cluster),
          services_(job, [&ranks] { ranks.idle(); }),
          locks_(services_) {}

    [[nodiscard]] Rank rank() const { return ranks_.topology().rank; }
    OpenResult open(bool self, AccessMode mode = kCreate, HintMap info = {}) {
        OpenCall call = call_of(kPath, mode, std::move(info));
        call.locks = &locks_;
        call.covers_job = !self;
        const int node = ranks_.topology().node(rank());
        call.open_store = [this, node](const std::string&,
                                       const OpenMode&) -> Result<std::unique_ptr<Store>> {
            return std::unique_ptr<Store>(
                std::make_unique<ClusterStore>(cluster_, node, [this] { ranks_.idle(); }));
        };
        auto transport = self ? std::unique_ptr<Transport>(std::make_unique<Alone>(ranks_))
                              : std::make_unique<Counting>(ranks_, collectives, messages);
        return File::open(std::make_shared<Workspace>(std::move(transport)), call);
    }

    int collectives = 0;  ///< of files of all ranks
    int messages = 0;

  private:
    Transport& ranks_;
    Cluster& cluster_;
    SimLockServices services_;
    JobLocks locks_;
};

template <class Body>
void on_cluster(Cluster& cluster, SimLocks& job, std::uint64_t seed, const Body& body,
                int ranks_per_node = 1) {
    SimOptions options;
    options.ranks = kRanks;
    options.ranks_per_node = ranks_per_node;
    options.seed = seed;
    options.switch_percent = 50;
    run_ranks(options, [&](Transport& transport) {
        Process process(transport, cluster, job);
        body(process);
    });
}

constexpr Bytes kPiece = 4;
constexpr Bytes kPieces = 1000;
constexpr Bytes kTile = 2 * kPiece * kRanks;

/// Each rank's pieces, with a hole of the same length behind each.
View pieces_of(Rank rank) {
    View view = View::bytes();
    view.file = {Shape::run(kPiece), kTile, 2 * kPiece * rank, Layout::unbounded};
    return view;
}

/// A collective write with holes, and each rank's small writes into its holes by `beside`, which
/// begin before and end after it.
void write_and_fill_beside(File& file, File& beside, Rank rank) {
    EXPECT_EQ(kind_of(file.set_view(pieces_of(rank), {})), ErrorKind::none);
    std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece), std::byte{'n'});
    const auto started = file.start(call_for(Direction::write, mine, true));
    std::vector<std::byte> hole(static_cast<std::size_t>(kPiece), std::byte{'h'});
    for (Bytes i = 0; i < kPieces; ++i) {
        const Offset at = i * kTile + 2 * kPiece * rank + kPiece;
        const Outcome outcome = beside.access(
            call_for(Direction::write, hole, false, Positioning::explicit_offset, at));
        EXPECT_EQ(outcome.error.kind, ErrorKind::none);
        file.progress(Mover::program);
    }
    EXPECT_EQ(file.finish(started).error.kind, ErrorKind::none);
}

std::string expected_pieces() {
    std::string text;
    for (Bytes i = 0; i < kPieces * kRanks; ++i) text += "nnnnhhhh";
    return text;
}

std::string text_of(const MemoryDisk& disk) {
    const auto bytes = disk.contents();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A second handle of all ranks, or one of each rank alone, opened before the first one or after.
struct Second {
    bool self;
    bool earlier;
};

class SecondHandle : public testing::TestWithParam<Second> {};

TEST_P(SecondHandle, LosesNothingBesideACollectiveWriteWithHoles) {
    const auto [self, earlier] = GetParam();
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        std::uint64_t holes_read = 0;
        on_cluster(cluster, job, seed, [&](Process& process) {
            const HintMap hints{{"oratorio_method", "two_phase"}, {"cb_nodes", "4"}};
            OpenResult other = earlier ? process.open(self) : OpenResult(Error{});
            auto file = process.open(false, kCreate, hints);
            if (!earlier) other = process.open(self);
            ASSERT_TRUE(file.ok() && other.ok());
            write_and_fill_beside(**file, **other, process.rank());
            holes_read += (*file)->stats().hole_reads;
            EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        EXPECT_EQ(text_of(cluster.disk), expected_pieces());
        EXPECT_EQ(holes_read > 0, !earlier);
        EXPECT_EQ(job.locks > 0, !earlier || !self);  // one of the two may fill holes
    }
}

std::string second_name(const testing::TestParamInfo<Second>& second) {
    return std::string(second.param.self ? "OfEachRank" : "OfAllRanks") +
           (second.param.earlier ? "OpenedEarlier" : "OpenedLater");
}

INSTANTIATE_TEST_SUITE_P(Handles, SecondHandle,
                         testing::Values(Second{false, false}, Second{false, true},
                                         Second{true, false}, Second{true, true}),
                         second_name);

TEST(JobLocks, SievedWritesOfAllNodesKeepEachOthersBytes) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        std::uint64_t holes_read = 0;
        on_cluster(cluster, job, seed, [&](Process& process) {
            auto file = process.open(false, kCreate, {{"oratorio_method", "sieve"}});
            ASSERT_TRUE(file.ok());
            View view = View::bytes();
            view.file = {Shape::run(kPiece), kPiece * kRanks, kPiece * process.rank(),
                         Layout::unbounded};
            EXPECT_EQ(kind_of((*file)->set_view(view, {})), ErrorKind::none);
            std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece),
                                        std::byte(1 + process.rank()));
            EXPECT_EQ((*file)->access(call_for(Direction::write, mine, false)).error.kind,
                      ErrorKind::none);
            holes_read += (*file)->stats().hole_reads;
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        std::string expected;
        for (Bytes i = 0; i < kPieces; ++i)
            for (int rank = 0; rank < kRanks; ++rank)
                expected += std::string(static_cast<std::size_t>(kPiece), char(1 + rank));
        EXPECT_EQ(text_of(cluster.disk), expected);
        EXPECT_GT(holes_read, 0U);
    }
}

/// All ranks write the same pieces.
void write_atomically(File& file, Rank rank, bool collective) {
    EXPECT_EQ(kind_of(file.set_atomicity(true)), ErrorKind::none);
    EXPECT_EQ(kind_of(file.set_view(pieces_of(0), {})), ErrorKind::none);
    std::vector<std::byte> mine(static_cast<std::size_t>(20 * kPiece), std::byte(1 + rank));
    EXPECT_EQ(file.access(call_for(Direction::write, mine, collective)).error.kind,
              ErrorKind::none);
}

TEST(JobLocks, AtomicWritesOfSeveralNodesAreNotMixed) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        Cluster cluster;
        SimLocks job;
        on_cluster(cluster, job, seed, [&](Process& process) {
            auto file = process.open(false, kCreate);
            ASSERT_TRUE(file.ok());
            write_atomically(**file, process.rank(), seed % 2 == 0);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        const std::string text = text_of(cluster.disk);
        for (Bytes i = 1; i < 20; ++i)
            EXPECT_EQ(text[static_cast<std::size_t>(i * kTile)], text[0]);
        EXPECT_EQ(job.table.size(), 0U);
    }
}

TEST(JobLocks, WhereTheFileSystemsLocksAreSeenTheyAreUsedAndTestedOnce) {
    Cluster cluster;
    cluster.locks_are_common = true;
    SimLocks job;
    on_cluster(
        cluster, job, 1,
        [&](Process& process) {
            for (int i = 0; i < 3; ++i) {
                auto file = process.open(false);
                ASSERT_TRUE(file.ok());
                write_atomically(**file, process.rank(), false);
                EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            }
        },
        2);
    EXPECT_EQ(job.locks, 0);
    EXPECT_EQ(job.offers, 0);
    // Rank 0 asks for other handles at each open, the other node's first rank looks once.
    EXPECT_EQ(cluster.probes, 3 + 1);
}

TEST(JobLocks, AnOpenSendsAsMuchWhateverItFindsOfLocks) {
    for (const bool common : {true, false}) {
        for (const char* hint : {"file", "auto", "job"}) {
            SCOPED_TRACE(std::string(hint) + (common ? ", common" : ", of a node"));
            Cluster cluster;
            cluster.locks_are_common = common;
            SimLocks job;
            on_cluster(cluster, job, 1, [&](Process& process) {
                auto file = process.open(false, kCreate, {{"oratorio_locks", hint}});
                ASSERT_TRUE(file.ok());
                EXPECT_EQ(process.collectives, 6);  // one of them for the hint's text
                EXPECT_EQ(process.messages, 0);
                EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            });
        }
    }
}

TEST(JobLocks, AFileSystemWithoutLocksGetsTheJobs) {
    Cluster cluster;
    cluster.has_locks = false;
    SimLocks job;
    on_cluster(cluster, job, 1, [&](Process& process) {
        auto file = process.open(false);
        ASSERT_TRUE(file.ok());
        write_atomically(**file, process.rank(), true);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(job.locks, kRanks);
}

TEST(JobLocks, TheHintDecides) {
    for (const char* hint : {"file", "job"}) {
        Cluster cluster;
        cluster.locks_are_common = true;
        SimLocks job;
        on_cluster(cluster, job, 1, [&](Process& process) {
            auto file = process.open(false, kCreate, {{"oratorio_locks", hint}});
            ASSERT_TRUE(file.ok());
            write_atomically(**file, process.rank(), true);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
        EXPECT_EQ(job.locks, hint == std::string("job") ? kRanks : 0);
        EXPECT_EQ(cluster.probes, 1);
    }
}

TEST(JobLocks, WhereNoServiceCanBeHadAtomicModeFailsOnAllRanksAndNothingIsLost) {
    Cluster cluster;
    SimLocks job;
    job.refused = EMFILE;
    on_cluster(cluster, job, 1, [&](Process& process) {
        auto file = process.open(false, kCreate, {{"oratorio_method", "two_phase"}});
        auto other = process.open(true);
        ASSERT_TRUE(file.ok() && other.ok());
        write_and_fill_beside(**file, **other, process.rank());
        EXPECT_EQ((*file)->stats().hole_reads, 0U);
        EXPECT_EQ(kind_of((*file)->set_atomicity(true)), ErrorKind::none);
        std::vector<std::byte> mine(4);
        for (const bool collective : {true, false}) {
            const Outcome outcome = (*file)->access(call_for(Direction::write, mine, collective));
            EXPECT_EQ(outcome.error.kind, ErrorKind::unsupported_operation);
            EXPECT_EQ(outcome.error.system_errno, EMFILE);
        }
        EXPECT_EQ(kind_of((*other)->close()), ErrorKind::none);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(text_of(cluster.disk), expected_pieces());
}

TEST(JobLocks, AHandleOfOneRankFillsNoHolesWhileNobodyKnowsTheLocks) {
    Cluster cluster;
    SimLocks job;
    on_cluster(cluster, job, 1, [&](Process& process) {
        if (process.rank() != 0) return;
        auto file = process.open(true, kCreate, {{"oratorio_method", "sieve"}});
        ASSERT_TRUE(file.ok());
        EXPECT_EQ(kind_of((*file)->set_view(pieces_of(0), {})), ErrorKind::none);
        std::vector<std::byte> mine(static_cast<std::size_t>(kPieces * kPiece));
        EXPECT_EQ((*file)->access(call_for(Direction::write, mine, false)).error.kind,
                  ErrorKind::none);
        EXPECT_EQ((*file)->stats().hole_reads, 0U);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
    });
    EXPECT_EQ(cluster.disk.counters().locks, 0U);
}

}  // namespace
}  // namespace oratorio::test
