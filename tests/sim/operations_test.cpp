// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking operations that are started and finished in any order, split collectives, and the
// shared file pointer.
#include <numeric>

#include "comm/node_transport.hpp"
#include "sim/file_ranks.hpp"

namespace oratorio::test::operations_test {
namespace {

using Buffer = std::vector<std::byte>;

Buffer filled(std::size_t bytes, int with) {
    return Buffer(bytes, std::byte(with));
}

constexpr auto kAt = Positioning::explicit_offset;
constexpr auto kShared = Positioning::shared;
constexpr auto kWriting = Direction::write;
constexpr auto kReading = Direction::read;

TEST(Operations, ManyUnderWayAreDoneInWhateverOrderTheyAreWaitedFor) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        constexpr int kOperations = 40;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            std::vector<Buffer> data;
            std::vector<OperationPtr> started;
            for (int i = 0; i < kOperations; ++i) data.push_back(filled(100, i + rank));
            for (int i = 0; i < kOperations; ++i) {
                const Offset offset = 100 * (i * ranks + rank);
                started.push_back(file.start(call_for(kWriting, data[static_cast<std::size_t>(i)],
                                                      i % 2 == 0, kAt, offset)));
            }
            // All ranks run collective operations in the order of their start, whatever the order
            // in which the ranks wait for the operations.
            for (int i = kOperations - 1; i >= 0; --i) {
                const Outcome outcome = file.finish(started[static_cast<std::size_t>(i)]);
                EXPECT_EQ(outcome.error.kind, ErrorKind::none);
                EXPECT_EQ(outcome.bytes, 100);
            }
            EXPECT_FALSE(file.progress(Mover::program).any);
        });
        const std::string content = folder.read("data");
        ASSERT_EQ(content.size(), static_cast<std::size_t>(100 * kOperations * ranks));
        for (std::size_t at = 0; at < content.size(); ++at) {
            const auto block = static_cast<int>(at / 100);
            ASSERT_EQ(content[at], static_cast<char>(block / ranks + block % ranks)) << at;
        }
    }
}

TEST(Operations, ProgressAloneGetsThemDone) {
    const Folder folder;
    with_file(4, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        Buffer mine = filled(64, rank);
        const OperationPtr all = file.start(call_for(kWriting, mine, true, kAt, 64 * rank));
        const OperationPtr alone =
            file.start(call_for(kWriting, mine, false, kAt, 1000 + 64 * rank));
        while (!all->done() || !alone->done()) {
            file.progress(Mover::program);
            file.transport().idle();
        }
        EXPECT_EQ(all->outcome().bytes, 64);
        EXPECT_EQ(alone->outcome().bytes, 64);
    });
}

TEST(Operations, AHelperSkipsWorkForTheProgramsThread) {
    const Folder folder;
    with_file(2, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        Buffer mine = filled(64, rank);
        // The simulated transport sends messages, as between nodes, so that a helper cannot
        // advance this operation.
        const OperationPtr all = file.start(call_for(kWriting, mine, true, kAt, 64 * rank));
        EXPECT_FALSE(file.progress(Mover::helper).pending);
        Buffer large = filled(kSmallAccess + 1, rank);  // too large to be moved by the call that
                                                        // starts it
        const OperationPtr alone =
            file.start(call_for(kWriting, large, false, kAt, 1000 + std::ssize(large) * rank));
        EXPECT_TRUE(file.progress(Mover::helper).pending);
        while (!alone->done()) file.progress(Mover::helper);
        EXPECT_FALSE(all->done());
        EXPECT_EQ(file.finish(all).bytes, 64);
    });
}

/// Fails the test if a helper sends, receives or tests an operation of the transport beneath,
/// because a helper may not call the host MPI.
class NotForHelpers : public Lent {
  public:
    NotForHelpers(Transport& owner, const bool& helping) : Lent(owner), helping_(helping) {}
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        EXPECT_FALSE(helping_);
        return Lent::send(to, tag, data);
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        EXPECT_FALSE(helping_);
        return Lent::receive(from, tag, into);
    }
    Result<Completion> test(Ticket ticket) override {
        EXPECT_FALSE(helping_);
        return Lent::test(ticket);
    }

  private:
    const bool& helping_;
};

TEST(Operations, AHelperPlansOnANodeAndLeavesTheRoundsToThreadsThatMaySendMessages) {
    const Folder folder;
    const OpenCall call = call_of(folder.file("data"), kCreate, {{"oratorio_method", "two_phase"}});
    on_ranks(3, [&](Transport& transport) {
        bool helping = false;
        auto node = NodeTransport::over(std::make_unique<NotForHelpers>(transport, helping));
        EXPECT_TRUE(node.ok() && (*node)->in_memory());
        auto file = File::open(std::make_shared<Workspace>(std::move(*node)), call);
        EXPECT_EQ(kind_of(file), ErrorKind::none);
        Buffer mine = filled(64, 1);
        const Rank rank = transport.topology().rank;
        const OperationPtr all = (*file)->start(call_for(kWriting, mine, true, kAt, 64 * rank));
        helping = true;
        while ((*file)->progress(Mover::helper).pending) transport.idle();
        helping = false;
        EXPECT_FALSE(all->done());
        EXPECT_EQ((*file)->finish(all).bytes, 64);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        return 0;
    });
    EXPECT_EQ(folder.read("data").size(), 192U);
}

TEST(Operations, TheIndividualPointerMovesWhenAnAccessIsStarted) {
    const Folder folder;
    with_file(2, call_of(folder.file("data"), kCreate), [&](File& file, Rank) {
        Buffer first = filled(10, 1);
        Buffer second = filled(20, 2);
        const auto one = file.start(call_for(kWriting, first, false, Positioning::individual));
        EXPECT_EQ(file.position(), 10);
        const auto two = file.start(call_for(kWriting, second, true, Positioning::individual));
        EXPECT_EQ(file.position(), 30);
        EXPECT_EQ(file.finish(two).bytes, 20);
        EXPECT_EQ(file.finish(one).bytes, 10);
    });
}

TEST(Operations, ClosingAndOtherCollectiveCallsWaitForThem) {
    const Folder folder;
    std::vector<Buffer> data = {filled(100, 'a'), filled(100, 'b'), filled(100, 'c')};
    with_file(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        Buffer& mine = data[static_cast<std::size_t>(rank)];
        std::vector<OperationPtr> started;
        started.push_back(file.start(call_for(kWriting, mine, true, kAt, 100 * rank)));
        EXPECT_EQ(kind_of(file.set_size(350)), ErrorKind::none);
        EXPECT_TRUE(started.back()->done());
        started.push_back(file.start(call_for(kWriting, mine, rank == 0, kAt, 1000)));
        if (rank > 0)
            started.push_back(file.start(call_for(kWriting, mine, true, kAt, 1000 + 100 * rank)));
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
        for (const OperationPtr& operation : started) EXPECT_TRUE(operation->done());
        (void)file.start(call_for(kWriting, mine, true, kAt, 100 * rank));
    });
    EXPECT_EQ(folder.read("data").substr(0, 300),
              std::string(100, 'a') + std::string(100, 'b') + std::string(100, 'c'));
}

TEST(Operations, AnArgumentErrorOfOneRankIsTheOutcomeOnAll) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        Buffer mine = filled(10, 1);
        AccessCall call = call_for(kWriting, mine, true, kAt, 10 * rank);
        if (rank == 1) call.refused = Error::make(ErrorKind::type, "a bad datatype");
        const OperationPtr bad = file.start(call);
        const OperationPtr good = file.start(call_for(kWriting, mine, true, kAt, 10 * rank));
        EXPECT_EQ(file.finish(good).error.kind, ErrorKind::none);
        EXPECT_EQ(bad->outcome().error.kind, ErrorKind::type);
        call.collective = false;
        const OperationPtr alone = file.start(call);
        EXPECT_EQ(file.finish(alone).error.kind, rank == 1 ? ErrorKind::type : ErrorKind::none);
    });
}

TEST(SplitCollectives, TheEndReturnsTheResultOfTheBegin) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            for (const Positioning at : {kAt, Positioning::individual, kShared}) {
                Buffer mine = filled(50, 'A' + rank);
                const Bytes round = 50 * ranks * static_cast<int>(at);
                EXPECT_EQ(kind_of(file.seek(round + 50 * rank, Whence::set)), ErrorKind::none);
                EXPECT_EQ(kind_of(file.seek_shared(round, Whence::set)), ErrorKind::none);
                EXPECT_EQ(kind_of(file.begin_split(
                              call_for(kWriting, mine, true, at, round + 50 * rank))),
                          ErrorKind::none);
                const Outcome outcome = file.end_split(kWriting, at, mine.data());
                EXPECT_EQ(outcome.error.kind, ErrorKind::none);
                EXPECT_EQ(outcome.bytes, 50);
            }
        });
        std::string once;
        for (int rank = 0; rank < ranks; ++rank)
            once += std::string(50, static_cast<char>('A' + rank));
        EXPECT_EQ(folder.read("data"), once + once + once);
    }
}

TEST(SplitCollectives, RejectedCallsInBetweenLoseNothing) {
    const Folder folder;
    with_file(2, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        Buffer mine = filled(8, 'x');
        Buffer other = filled(8, 'y');
        const auto write_at = call_for(kWriting, mine, true, kAt, 8 * rank);
        EXPECT_EQ(file.end_split(kWriting, kAt, mine.data()).error.kind, ErrorKind::other);
        EXPECT_EQ(kind_of(file.begin_split(write_at)), ErrorKind::none);
        EXPECT_EQ(kind_of(file.begin_split(write_at)), ErrorKind::other);
        EXPECT_EQ(file.access(write_at).error.kind, ErrorKind::other);
        EXPECT_EQ(file.finish(file.start(write_at)).error.kind, ErrorKind::other);
        EXPECT_EQ(file.access(call_for(kWriting, other, false, kAt, 100)).error.kind,
                  ErrorKind::none);
        EXPECT_EQ(file.end_split(kWriting, kAt, mine.data()).bytes, 8);
        EXPECT_EQ(file.end_split(kWriting, kAt, mine.data()).error.kind, ErrorKind::other);
    });
    EXPECT_EQ(folder.read("data").substr(0, 16), std::string(16, 'x'));
}

/// The last rank ends the access with a routine that doesn't match, or with another buffer. All
/// ranks' data is written nevertheless, and the file can be used again.
TEST(SplitCollectives, AnEndThatDoesNotMatchEndsTheAccess) {
    struct End {
        Direction direction;
        Positioning at;
        bool other_buffer;
        ErrorKind kind;
    };
    for (const End& end : {End{kReading, kAt, false, ErrorKind::other},
                           End{kWriting, kShared, false, ErrorKind::other},
                           End{kWriting, kAt, true, ErrorKind::argument}}) {
        const Folder folder;
        with_file(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            Buffer mine = filled(8, 'x');
            Buffer other = filled(8, 'y');
            const auto write_at = call_for(kWriting, mine, true, kAt, 8 * rank);
            EXPECT_EQ(kind_of(file.begin_split(write_at)), ErrorKind::none);
            const bool wrong = rank == 2;
            const Outcome outcome = wrong ? file.end_split(end.direction, end.at,
                                                           (end.other_buffer ? other : mine).data())
                                          : file.end_split(kWriting, kAt, mine.data());
            EXPECT_EQ(outcome.error.kind, wrong ? end.kind : ErrorKind::none);
            EXPECT_EQ(outcome.bytes, 8);
            EXPECT_EQ(file.access(call_for(kWriting, other, true, kAt, 24 + 8 * rank)).bytes, 8);
        });
        EXPECT_EQ(folder.read("data"), std::string(24, 'x') + std::string(24, 'y'));
    }
}

/// Rank 0 begins its second access without having ended the first. It still takes part in the
/// second access, which is an error on all ranks: in the begin routine on rank 0, in the end
/// routine on the others.
TEST(SplitCollectives, AnEarlyBeginOnOneRankBlocksNoOther) {
    for (const Positioning at : {kAt, kShared}) {
        const Folder folder;
        with_file(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            Buffer mine = filled(8, 'x');
            const auto write = call_for(kWriting, mine, true, at, 8 * rank);
            EXPECT_EQ(kind_of(file.begin_split(write)), ErrorKind::none);
            const bool early = rank == 0;
            if (!early) {
                EXPECT_EQ(file.end_split(kWriting, at, mine.data()).bytes, 8);
            }
            EXPECT_EQ(kind_of(file.begin_split(write)), early ? ErrorKind::other : ErrorKind::none);
            const Outcome outcome = file.end_split(kWriting, at, mine.data());
            EXPECT_EQ(outcome.error.kind, early ? ErrorKind::none : ErrorKind::other);
            EXPECT_EQ(outcome.bytes, 8);
            EXPECT_EQ(file.access(call_for(kWriting, mine, true, kAt, 24 + 8 * rank)).bytes, 8);
        });
        EXPECT_EQ(folder.read("data"), std::string(48, 'x'));
    }
}

TEST(SharedPointer, EveryRecordGetsItsOwnOffset) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        constexpr int kRecords = 30;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            for (int i = 0; i < kRecords; ++i) {
                Buffer mine = filled(10, 'A' + rank);
                const auto call = call_for(kWriting, mine, false, kShared);
                const Outcome outcome =
                    i % 2 == 0 ? file.access(call) : file.finish(file.start(call));
                EXPECT_EQ(outcome.bytes, 10);
                EXPECT_EQ(file.position(), 0);
            }
        });
        const std::string content = folder.read("data");
        ASSERT_EQ(content.size(), static_cast<std::size_t>(10 * kRecords * ranks));
        std::vector<int> found(static_cast<std::size_t>(ranks));
        for (std::size_t at = 0; at < content.size(); at += 10) {
            ASSERT_EQ(content.substr(at, 10), std::string(10, content[at]));
            ++found[static_cast<std::size_t>(content[at] - 'A')];
        }
        EXPECT_EQ(found, std::vector<int>(static_cast<std::size_t>(ranks), kRecords));
    }
}

TEST(SharedPointer, OrderedAccessesLieInTheOrderOfTheRanks) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            const auto length = static_cast<std::size_t>(rank * 3);  // rank 0 has no data
            for (int round = 0; round < 3; ++round) {
                Buffer mine = filled(length, 'a' + rank);
                EXPECT_EQ(file.access(call_for(kWriting, mine, true, kShared)).bytes, rank * 3);
            }
            const int total = 3 * 3 * ranks * (ranks - 1) / 2;
            EXPECT_EQ(*file.position_shared(), total);
            EXPECT_EQ(kind_of(file.seek_shared(-total, Whence::current)), ErrorKind::none);
            Buffer back = filled(length, 0);
            EXPECT_EQ(file.access(call_for(kReading, back, true, kShared)).bytes, rank * 3);
            EXPECT_EQ(back, filled(length, 'a' + rank));
        });
        std::string once;
        for (int rank = 0; rank < ranks; ++rank)
            once += std::string(static_cast<std::size_t>(rank * 3), static_cast<char>('a' + rank));
        EXPECT_EQ(folder.read("data"), once + once + once);
    }
}

TEST(SharedPointer, CountsEtypesAndIsResetByAView) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        const auto view = View::make(0, 4, Shape::run(4), 4, true, "native");
        EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
        Buffer mine = filled(8, rank);
        EXPECT_EQ(file.access(call_for(kWriting, mine, true, kShared)).bytes, 8);
        EXPECT_EQ(*file.position_shared(), 6);
        Buffer odd = filled(6, 0);
        EXPECT_EQ(file.access(call_for(kWriting, odd, false, kShared)).error.kind,
                  ErrorKind::argument);
        EXPECT_EQ(*file.position_shared(), 6) << "a refused access moves nothing";
        EXPECT_EQ(kind_of(file.seek_shared(-2, Whence::end)), ErrorKind::none);
        EXPECT_EQ(*file.position_shared(), 4);
        EXPECT_EQ(kind_of(file.seek_shared(-5, Whence::current)), ErrorKind::argument);
        EXPECT_EQ(kind_of(file.seek_shared(rank, Whence::set)), ErrorKind::not_same);
        EXPECT_EQ(kind_of(file.seek_shared(0, Whence::unknown)), ErrorKind::argument);
        EXPECT_EQ(*file.position_shared(), 4);
        EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
        EXPECT_EQ(*file.position_shared(), 0);
    });
}

TEST(SharedPointer, AppendingBeginsAtTheEndOfTheFileAndASequentialFileHasNoOther) {
    const Folder folder;
    AccessMode append = kWrite;
    append.append = true;
    append.sequential = true;
    with_file(2, call_of(folder.make("data", "12345"), append), [&](File& file, Rank rank) {
        Buffer mine = filled(2, 'a' + rank);
        EXPECT_EQ(file.access(call_for(kWriting, mine, true, kShared)).bytes, 2);
        EXPECT_EQ(file.access(call_for(kWriting, mine, true, kAt)).error.kind,
                  ErrorKind::unsupported_operation);
        EXPECT_EQ(file.access(call_for(kWriting, mine, false, Positioning::individual)).error.kind,
                  ErrorKind::unsupported_operation);
        EXPECT_EQ(kind_of(file.seek_shared(0, Whence::set)), ErrorKind::unsupported_operation);
        EXPECT_EQ(kind_of(file.position_shared()), ErrorKind::unsupported_operation);
    });
    EXPECT_EQ(folder.read("data"), "12345aabb");
}

}  // namespace
}  // namespace oratorio::test::operations_test
