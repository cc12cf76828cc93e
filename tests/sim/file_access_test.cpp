// SPDX-License-Identifier: BSD-3-Clause
// Data access through a File: argument errors, file pointers, end of file, views, atomic mode.
#include "sim/file_ranks.hpp"
#include "support/random.hpp"
#include "type/cursor.hpp"
#include "type/external32.hpp"

namespace oratorio::test::file_access_test {
namespace {

using Buffer = std::vector<std::byte>;

Buffer filled(std::size_t bytes, int with) {
    return Buffer(bytes, std::byte(with));
}

AccessCall at(AccessCall call, Offset offset) {
    call.at = Positioning::explicit_offset;
    call.offset = offset;
    return call;
}

Result<View> view_of(Offset displacement, Bytes etype, ShapePtr filetype, Bytes extent) {
    return View::make(displacement, etype, std::move(filetype), extent, true, "native");
}

/// The result of an access.
struct Came {
    ErrorKind kind;
    Bytes bytes;
    bool operator==(const Came&) const = default;
};
void PrintTo(const Came& came, std::ostream* out) {
    *out << "kind " << static_cast<int>(came.kind) << ", " << came.bytes << " bytes";
}

Came access(File& file, const AccessCall& call) {
    const Outcome outcome = file.access(call);
    return {outcome.error.kind, outcome.bytes};
}

constexpr Came moved(Bytes bytes) {
    return {ErrorKind::none, bytes};
}
constexpr Came failed(ErrorKind kind) {
    return {kind, 0};
}

TEST(FileAccess, RanksWriteAndReadTheirPartsOfAnInterleavedView) {
    for (const int ranks : kRankCounts) {
        for (const bool collective : {false, true}) {
            const Folder folder;
            with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
                EXPECT_EQ(
                    kind_of(file.set_view(view_of(3 + 4 * rank, 4, Shape::run(4), 4 * ranks), {})),
                    ErrorKind::none);
                for (int step = 0; step < 3; ++step) {
                    Buffer mine = filled(40, 'a' + rank + step);
                    EXPECT_EQ(access(file, call_for(Direction::write, mine, collective)),
                              moved(40));
                    EXPECT_EQ(file.position(), 10 * (step + 1));
                }
                EXPECT_EQ(kind_of(file.seek(5, Whence::set)), ErrorKind::none);
                Buffer back = filled(40, 0);
                EXPECT_EQ(access(file, call_for(Direction::read, back, collective)), moved(40));
                Buffer expected = filled(20, 'a' + rank);
                expected.resize(40, std::byte('a' + rank + 1));
                EXPECT_EQ(back, expected);
                EXPECT_EQ(file.position(), 15);
            });
            std::string content(3, '\0');
            for (int step = 0; step < 3; ++step) {
                for (int etype = 0; etype < 10; ++etype) {
                    for (int rank = 0; rank < ranks; ++rank)
                        content += std::string(4, static_cast<char>('a' + rank + step));
                }
            }
            EXPECT_EQ(folder.read("data"), content) << ranks << " ranks, collective " << collective;
        }
    }
}

TEST(FileAccess, ExplicitOffsetsLeaveThePointerAlone) {
    const Folder folder;
    for (const bool collective : {false, true}) {
        with_file(2, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            EXPECT_EQ(kind_of(file.seek(7, Whence::set)), ErrorKind::none);
            Buffer mine = filled(8, 'x');
            EXPECT_EQ(access(file, at(call_for(Direction::write, mine, collective), 8 * rank)),
                      moved(8));
            EXPECT_EQ(file.position(), 7);
        });
    }
}

TEST(FileAccess, TheEndOfFileShortensAReadButNotTheMoveOfThePointer) {
    for (const bool collective : {false, true}) {
        const Folder folder;
        with_file(3, call_of(folder.make("data", "content"), kRead), [&](File& file, Rank) {
            Buffer back = filled(10, 0);
            EXPECT_EQ(access(file, call_for(Direction::read, back, collective)), moved(7));
            EXPECT_EQ(std::memcmp(back.data(), "content\0\0\0", 10), 0);
            EXPECT_EQ(file.position(), 10);
            EXPECT_EQ(access(file, call_for(Direction::read, back, collective)), moved(0));
            EXPECT_EQ(file.position(), 20);
        });
    }
}

TEST(FileAccess, TheModeOfTheFileIsRespected) {
    const Folder folder;
    const struct {
        AccessMode mode;
        Direction direction;
        ErrorKind expected;
    } cases[] = {
        {kRead, Direction::write, ErrorKind::read_only},
        {kWrite, Direction::read, ErrorKind::access},
        {{.read_only = true, .sequential = true},
         Direction::read,
         ErrorKind::unsupported_operation},
        {{.write_only = true, .sequential = true},
         Direction::write,
         ErrorKind::unsupported_operation},
    };
    for (const auto& one : cases) {
        for (const int ranks : kRankCounts) {
            with_file(ranks, call_of(folder.make("data", "content"), one.mode),
                      [&](File& file, Rank) {
                          for (const bool collective : {false, true}) {
                              Buffer buffer = filled(4, 'x');
                              EXPECT_EQ(access(file, call_for(one.direction, buffer, collective)),
                                        failed(one.expected));
                              EXPECT_EQ(file.position(), 0);
                          }
                      });
            EXPECT_EQ(folder.read("data"), "content");
        }
    }
}

TEST(FileAccess, BadArgumentsAreRefusedAndThePointerStays) {
    const Folder folder;
    with_file(1, call_of(folder.file("data"), kCreate), [](File& file, Rank) {
        EXPECT_EQ(kind_of(file.set_view(view_of(0, 4, Shape::run(4), 4), {})), ErrorKind::none);
        for (const bool collective : {false, true}) {
            Buffer odd = filled(6, 'x');
            Buffer even = filled(8, 'x');
            EXPECT_EQ(access(file, call_for(Direction::write, odd, collective)),
                      failed(ErrorKind::argument));
            EXPECT_EQ(access(file, at(call_for(Direction::write, even, collective), -1)),
                      failed(ErrorKind::argument));
            EXPECT_EQ(access(file, at(call_for(Direction::write, even, collective), INT64_MAX / 4)),
                      failed(ErrorKind::argument));
            AccessCall huge = call_for(Direction::write, even, collective);
            huge.memory.count = INT64_MAX;
            EXPECT_EQ(access(file, huge), failed(ErrorKind::count));
            AccessCall far = call_for(Direction::write, even, collective);
            far.memory = {Shape::run(4), kOffsetLimit / 2, 0, 4};
            EXPECT_EQ(access(file, far), failed(ErrorKind::count));
            // The data has 2^61 + 4 bytes in memory, and 2^62 + 8 in the file.
            AccessCall longer = call_for(Direction::write, even, collective);
            longer.memory = {Shape::run(4), 4, 0, kOffsetLimit / 8 + 1};
            longer.conversion = *external32_conversion(
                longer.memory, Signature::of({ScalarKind::signed_long, 1, 4, 8, 1}));
            EXPECT_EQ(access(file, longer), failed(ErrorKind::count));
            AccessCall refused = call_for(Direction::write, even, collective);
            refused.refused = Error::make(ErrorKind::type, "test");
            EXPECT_EQ(access(file, refused), failed(ErrorKind::type));
            EXPECT_EQ(file.position(), 0);
        }
    });
    EXPECT_EQ(folder.read("data"), "");
}

TEST(FileAccess, ACollectiveRejectedOnOneRankFailsOnAllRanks) {
    for (const int ranks : kRankCounts) {
        for (const Direction direction : {Direction::write, Direction::read}) {
            const Folder folder;
            with_file(ranks, call_of(folder.make("data", std::string(1000, 'o')), kReadWrite),
                      [&](File& file, Rank rank) {
                          Buffer buffer = filled(100, 'n');
                          AccessCall call = at(call_for(direction, buffer, true),
                                               rank == ranks - 1 ? -5 : 100 * rank);
                          EXPECT_EQ(access(file, call).kind, ErrorKind::argument);
                          call = at(call_for(direction, buffer, true), 100 * rank);
                          if (rank == 0) call.refused = Error::make(ErrorKind::buffer, "test");
                          EXPECT_EQ(access(file, call).kind, ErrorKind::buffer);
                          EXPECT_EQ(access(file, at(call_for(direction, buffer, true), 100 * rank)),
                                    moved(100));
                      });
        }
    }
}

TEST(FileAccess, AViewWithoutDataReachesNothing) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            const bool blind = rank == ranks - 1;
            const auto view = blind ? view_of(0, 4, Shape::empty(), 0)
                                    : view_of(8 * rank, 4, Shape::run(8), 8 * ranks);
            EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
            Buffer buffer = filled(8, 'x');
            for (const bool collective : {false, true}) {
                EXPECT_EQ(access(file, call_for(Direction::write, buffer, collective)),
                          moved(blind ? 0 : 8));
            }
            EXPECT_EQ(file.position(), 4);
        });
    }
}

TEST(FileAccess, NoDataIsFineEverywhere) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate), [](File& file, Rank rank) {
        Buffer none;
        Buffer some = filled(rank == 1 ? 16 : 0, 'x');
        for (const bool collective : {false, true}) {
            EXPECT_EQ(access(file, call_for(Direction::write, none, collective)), moved(0));
            EXPECT_EQ(access(file, call_for(Direction::write, some, collective)),
                      moved(rank == 1 ? 16 : 0));
        }
        EXPECT_EQ(kind_of(file.set_view(view_of(0, 0, Shape::empty(), 0), {})), ErrorKind::none);
        EXPECT_EQ(access(file, call_for(Direction::read, none, true)), moved(0));
        EXPECT_EQ(access(file, call_for(Direction::read, some, true)).kind, ErrorKind::argument);
    });
}

TEST(FileAccess, TilesThatInterleaveAreReadInDataOrder) {
    // A matrix of 3 rows of 4 bytes is read column by column, through the view.
    for (const bool collective : {false, true}) {
        const Folder folder;
        with_file(2, call_of(folder.make("data", "abcdefghijkl"), kRead), [&](File& file, Rank) {
            EXPECT_EQ(
                kind_of(file.set_view(view_of(0, 1, Shape::strided(Shape::run(1), 3, 4), 1), {})),
                ErrorKind::none);
            Buffer back = filled(12, 0);
            EXPECT_EQ(access(file, call_for(Direction::read, back, collective)), moved(12));
            EXPECT_EQ(std::memcmp(back.data(), "aeibfjcgkdhl", 12), 0);
        });
    }
}

TEST(FileAccess, AWriteOnlyFileWithHolesKeepsWhatIsBetween) {
    for (const int ranks : kRankCounts) {
        for (const bool collective : {false, true}) {
            const Folder folder;
            const std::string old(static_cast<std::size_t>(80 * ranks), 'o');
            with_file(ranks, call_of(folder.make("data", old), kWrite), [&](File& file, Rank rank) {
                EXPECT_EQ(
                    kind_of(file.set_view(view_of(8 * rank, 4, Shape::run(4), 8 * ranks), {})),
                    ErrorKind::none);
                Buffer mine = filled(40, 'n');
                EXPECT_EQ(access(file, call_for(Direction::write, mine, collective)), moved(40));
            });
            std::string expected;
            for (int piece = 0; piece < 10 * ranks; ++piece) expected += "nnnnoooo";
            EXPECT_EQ(folder.read("data"), expected)
                << ranks << " ranks, collective " << collective;
        }
    }
}

TEST(FileAccess, HolesNeedNoPermissionToReadWhateverTheHints) {
    for (const bool collective : {false, true}) {
        const Folder folder;
        ASSERT_EQ(chmod(folder.file("").c_str(), 0755), 0);
        const std::string path = folder.make("data", std::string(320, 'o'));
        ASSERT_EQ(chmod(path.c_str(), 0222), 0);
        {
            const WithoutPrivileges plain;
            const HintMap hints{{"romio_cb_write", "enable"},
                                {"romio_ds_write", "enable"},
                                {"oratorio_method", "two_phase"}};
            with_file(4, call_of(path, kWrite, hints), [&](File& file, Rank rank) {
                EXPECT_EQ(kind_of(file.set_view(view_of(8 * rank, 4, Shape::run(4), 32), {})),
                          ErrorKind::none);
                Buffer mine = filled(40, 'n');
                EXPECT_EQ(access(file, call_for(Direction::write, mine, collective)), moved(40));
            });
        }
        ASSERT_EQ(chmod(path.c_str(), 0666), 0);
        std::string expected;
        for (int piece = 0; piece < 40; ++piece) expected += "nnnnoooo";
        EXPECT_EQ(folder.read("data"), expected) << collective;
    }
}

// The ranks of one process take turns, so a rank that waits for another's lock would wait forever.
// Therefore these collective accesses lock disjoint ranges.
TEST(FileAccess, AtomicModeWritesTheSameBytes) {
    for (const int ranks : kRankCounts) {
        for (const bool collective : {false, true}) {
            const Folder folder;
            with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
                EXPECT_EQ(kind_of(file.set_atomicity(true)), ErrorKind::none);
                const auto mixed = view_of(4 * rank, 4, Shape::run(4), 4 * ranks);
                const auto apart = view_of(40 * rank, 4, Shape::run(4), 4);
                EXPECT_EQ(kind_of(file.set_view(collective ? apart : mixed, {})), ErrorKind::none);
                Buffer mine = filled(40, 'a' + rank);
                EXPECT_EQ(access(file, call_for(Direction::write, mine, collective)), moved(40));
                Buffer back = filled(40, 0);
                EXPECT_EQ(access(file, at(call_for(Direction::read, back, collective), 0)),
                          moved(40));
                EXPECT_EQ(back, mine);
            });
            std::string expected;
            for (int etype = 0; etype < 10 * ranks; ++etype) {
                const int writer = collective ? etype / 10 : etype % ranks;
                expected += std::string(4, static_cast<char>('a' + writer));
            }
            EXPECT_EQ(folder.read("data"), expected)
                << ranks << " ranks, collective " << collective;
        }
    }
}

TEST(FileAccess, OnePieceOfAViewWithHolesTakesNoPlan) {
    const Folder folder;
    with_file(1, call_of(folder.file("data"), kCreate), [](File& file, Rank) {
        // The view's pieces of 4 bytes are 8 apart. An access inside one piece is contiguous in the
        // file and needs no plan; one that crosses into the next piece is not.
        ASSERT_EQ(kind_of(file.set_view(view_of(2, 1, Shape::run(4), 8), {})), ErrorKind::none);
        Buffer piece = filled(4, 'a');
        EXPECT_EQ(access(file, at(call_for(Direction::write, piece, false), 4)), moved(4));
        Buffer part = filled(2, 'b');
        EXPECT_EQ(access(file, at(call_for(Direction::write, part, false), 9)), moved(2));
        EXPECT_EQ(file.stats().plans, 0U);
        Buffer two = filled(4, 'c');  // spans the end of one piece and the start of the next
        EXPECT_EQ(access(file, at(call_for(Direction::write, two, false), 14)), moved(4));
        EXPECT_EQ(file.stats().plans, 1U);
        Buffer back = filled(4, 0);
        EXPECT_EQ(access(file, at(call_for(Direction::read, back, false), 4)), moved(4));
        EXPECT_EQ(back, piece);
        EXPECT_EQ(file.stats().plans, 1U);
        Buffer past = filled(4, 0);  // the file ends within the piece
        EXPECT_EQ(access(file, at(call_for(Direction::read, past, false), 16)), moved(2));
    });
    EXPECT_EQ(folder.read("data"), std::string("\0\0\0\0\0\0\0\0\0\0aaaa\0\0\0\0\0bb\0\0\0\0\0\0\0"
                                               "cc\0\0\0\0cc",
                                               36));
}

/// Returns a layout of two tiles, each with `pieces` pieces of 1 to 9 bytes in random order. Most
/// pieces have gaps between them.
Layout draw_memory(Random& random, int pieces) {
    std::vector<Offset> offsets;
    std::vector<Bytes> lengths;
    Offset end = 0;
    for (int i = 0; i < pieces; ++i) {
        offsets.push_back(end + random.between(0, 5));
        lengths.push_back(random.between(1, 9));
        end = offsets.back() + lengths.back();
    }
    for (std::size_t i = offsets.size(); i > 1; --i) {
        const auto other = static_cast<std::size_t>(random.below(i));
        std::swap(offsets[i - 1], offsets[other]);
        std::swap(lengths[i - 1], lengths[other]);
    }
    return {Shape::runs(offsets, lengths), end + 3, 0, 2};
}

/// Returns the bytes of the layout, in data order.
Buffer taken(const Layout& layout, const Buffer& memory) {
    Buffer data;
    Cursor cursor(layout);
    for (Bytes left = layout.size(); left > 0;) {
        const StridedRun run = cursor.next(left);
        for (std::int64_t i = 0; i < run.count; ++i) {
            const auto from = memory.begin() + run.offset + i * run.stride;
            data.insert(data.end(), from, from + run.length);
        }
        left -= run.bytes();
    }
    return data;
}

TEST(FileAccess, FewPiecesOfMemoryAreMovedByOneCallWithoutAPlan) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Folder folder;
        with_file(1, call_of(folder.file("data"), kCreate), [&](File& file, Rank) {
            Random random(seed);
            const Layout layout = draw_memory(random, static_cast<int>(random.between(2, 16)));
            Buffer memory = filled(1000, 0);
            for (std::byte& one : memory) one = std::byte(random.between(1, 255));
            AccessCall call = at(call_for(Direction::write, memory, false), 7);
            call.memory = layout;
            EXPECT_EQ(access(file, call), moved(layout.size()));
            Buffer back = filled(1000, 0);
            call = at(call_for(Direction::read, back, false), 7);
            call.memory = layout;
            EXPECT_EQ(access(file, call), moved(layout.size()));
            EXPECT_EQ(taken(layout, back), taken(layout, memory));
            EXPECT_EQ(std::ranges::count(back, std::byte{0}), 1000 - layout.size());
            EXPECT_EQ(file.stats().plans, 0U);
            EXPECT_EQ(file.stats().storage_calls, 2U);
        });
    }
}

TEST(FileAccess, ManyPiecesOfMemoryTakeAPlan) {
    const Folder folder;
    with_file(1, call_of(folder.file("data"), kCreate), [&](File& file, Rank) {
        Random random(1);
        const Layout layout = draw_memory(random, 17);
        Buffer memory = filled(1000, 'a');
        AccessCall call = at(call_for(Direction::write, memory, false), 0);
        call.memory = layout;
        EXPECT_EQ(access(file, call), moved(layout.size()));
        EXPECT_EQ(file.stats().plans, 1U);
    });
}

TEST(FileAccess, TilesThatInterleaveAreNotOnePieceThoughTheyFillOne) {
    const Folder folder;
    with_file(1, call_of(folder.make("data", "0123456789abcdef"), kReadWrite),
              [](File& file, Rank) {
                  const ShapePtr two = Shape::strided(Shape::run(4), 2, 8);
                  ASSERT_EQ(kind_of(file.set_view(view_of(0, 1, two, 4), {})), ErrorKind::none);
                  Buffer back = filled(12, 0);
                  EXPECT_EQ(access(file, at(call_for(Direction::read, back, false), 0)), moved(12));
                  EXPECT_EQ(std::memcmp(back.data(), "012389ab4567", 12), 0);
              });
}

TEST(FileStats, CountWhatWasStored) {
    const Folder folder;
    with_file(1, call_of(folder.file("data"), kCreate), [](File& file, Rank) {
        Buffer mine = filled(64, 'x');
        EXPECT_EQ(access(file, call_for(Direction::write, mine, false)), moved(64));
        EXPECT_EQ(file.stats().bytes_stored, 64u);
    });
}

// Rounds without data are skipped, so that rounds far apart are under way at the same time.
TEST(FileAccess, DataFarApartSharesAggregatorsWithoutHarm) {
    constexpr Offset kSubBuffer = 4096;
    for (const char* method : {"shared_buffer", "two_phase"}) {
        for (const Offset rounds : {1, 7, 8, 9, 16, 31}) {
            SCOPED_TRACE(method + std::string(", rounds apart: ") + std::to_string(rounds));
            const Folder folder;
            const HintMap hints{{"oratorio_method", method},
                                {"cb_nodes", "1"},
                                {"oratorio_slots", "4"},
                                {"oratorio_sub_buffer", std::to_string(kSubBuffer)}};
            with_file(3, call_of(folder.file("data"), kCreate, hints), [&](File& file, Rank rank) {
                Buffer mine = filled(100, 'a' + rank);
                const Offset offset = rank * rounds * kSubBuffer;
                EXPECT_EQ(access(file, at(call_for(Direction::write, mine, true), offset)),
                          moved(100));
                Buffer back = filled(100, 0);
                EXPECT_EQ(access(file, at(call_for(Direction::read, back, true), offset)),
                          moved(100));
                EXPECT_EQ(back, mine);
            });
        }
    }
}

// The view contains some bytes twice, and a read returns them twice.
TEST(FileAccess, AViewThatIsOnlyReadMayHoldABlockWithinTheOneBefore) {
    const Folder folder;
    for (const bool collective : {false, true}) {
        with_file(
            2, call_of(folder.make("data", "0123456789ABCDEF"), kRead), [&](File& file, Rank) {
                const auto view = View::make(0, 1, Shape::runs({0, 2}, {6, 2}), 8, false, "native");
                EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
                Buffer back = filled(16, 0);
                EXPECT_EQ(access(file, call_for(Direction::read, back, collective)), moved(16));
                EXPECT_EQ(std::memcmp(back.data(), "0123452389ABCDAB", 16), 0);
            });
    }
}

}  // namespace
}  // namespace oratorio::test::file_access_test
