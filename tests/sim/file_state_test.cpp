// SPDX-License-Identifier: BSD-3-Clause
// Sizes, positions, views and flags of an open file.
#include <cerrno>

#include "sim/file_ranks.hpp"
#include "support/memory_store.hpp"

namespace oratorio::test::file_state_test {
namespace {

Result<View> view_of(Offset displacement, Bytes etype, ShapePtr filetype, Bytes extent) {
    return View::make(displacement, etype, std::move(filetype), extent, true, "native");
}

Bytes size_of(File& file) {
    const auto bytes = file.size();
    return bytes ? *bytes : -1;
}

TEST(FileSize, IsSetByAllRanksTogether) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [](File& file, Rank) {
            EXPECT_EQ(size_of(file), 0);
            for (const Bytes bytes : {1000, 10, 0, 5}) {
                EXPECT_EQ(kind_of(file.set_size(bytes)), ErrorKind::none);
                EXPECT_EQ(size_of(file), bytes);
                EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
            }
        });
        EXPECT_EQ(folder.read("data"), std::string(5, '\0'));
    }
}

TEST(FileSize, PreallocatingNeverShrinks) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.make("data", "content"), kReadWrite), [](File& file, Rank) {
            EXPECT_EQ(kind_of(file.preallocate(3)), ErrorKind::none);
            EXPECT_EQ(size_of(file), 7);
            EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
            EXPECT_EQ(kind_of(file.preallocate(9)), ErrorKind::none);
            EXPECT_EQ(size_of(file), 9);
        });
        EXPECT_EQ(folder.read("data"), std::string("content\0\0", 9));
    }
}

TEST(FileSize, PreallocatingByWritingHasTheSameResultOnAllRanks) {
    constexpr Bytes kFits = 300'000;
    constexpr Bytes kCapacity = 400'000;
    for (const int ranks : kRankCounts) {
        const Folder folder;
        MemoryDisk disk(kCapacity);
        disk.write(5, std::vector{std::byte{7}});
        OpenCall call = call_of(folder.make("data", ""), kReadWrite);
        call.open_store = [&](const std::string&, const OpenMode&) {
            return Result<std::unique_ptr<Store>>(std::make_unique<MemoryStore>(
                disk, MemoryStoreOptions{.resize_errno = EOPNOTSUPP}));
        };
        with_file(ranks, call, [&](File& file, Rank) {
            EXPECT_EQ(kind_of(file.preallocate(kFits)), ErrorKind::none);
            EXPECT_EQ(size_of(file), kFits);
            EXPECT_EQ(kind_of(file.preallocate(2 * kCapacity)), ErrorKind::no_space);
        });
        EXPECT_EQ(disk.contents({5, 6})[0], std::byte{7}) << ranks;
    }
}

TEST(FileSize, PreallocatingByWritingFillsHolesEvenIfTheProgramOnlyWrites) {
    constexpr Bytes kSize = 300'000;
    const Folder folder;
    MemoryDisk disk(kSize);
    disk.write(kSize - 1, std::vector{std::byte{7}});
    OpenCall call = call_of(folder.make("data", ""), {.write_only = true});
    call.open_store = [&](const std::string&, const OpenMode&) {
        return Result<std::unique_ptr<Store>>(
            std::make_unique<MemoryStore>(disk, MemoryStoreOptions{.resize_errno = EOPNOTSUPP}));
    };
    with_file(2, call, [&](File& file, Rank) {
        EXPECT_EQ(kind_of(file.preallocate(kSize)), ErrorKind::none);
    });
    EXPECT_EQ(disk.counters().bytes_written, kSize);
    EXPECT_EQ(disk.contents({kSize - 1, kSize})[0], std::byte{7});
}

TEST(FileSize, ThatDiffersOrIsNegativeFailsOnAllRanksAndChangesNothing) {
    const Folder folder;
    for (const int ranks : kRankCounts) {
        with_file(
            ranks, call_of(folder.make("data", "content"), kReadWrite), [&](File& file, Rank rank) {
                const bool odd = rank == ranks - 1;
                const ErrorKind differing = ranks == 1 ? ErrorKind::none : ErrorKind::not_same;
                EXPECT_EQ(kind_of(file.set_size(odd ? -1 : 7)), ErrorKind::argument);
                EXPECT_EQ(kind_of(file.preallocate(odd ? -1 : 7)), ErrorKind::argument);
                EXPECT_EQ(kind_of(file.set_size(odd ? 7 : 100)), differing);
                EXPECT_EQ(kind_of(file.preallocate(odd ? 7 : 100)), differing);
                EXPECT_EQ(size_of(file), 7);
            });
    }
}

TEST(FileSize, DoesNotChangeForAReadOnlyFile) {
    const Folder folder;
    with_file(3, call_of(folder.make("data", "content"), kRead), [](File& file, Rank) {
        EXPECT_EQ(kind_of(file.set_size(1)), ErrorKind::read_only);
        EXPECT_EQ(kind_of(file.preallocate(100)), ErrorKind::read_only);
        EXPECT_EQ(size_of(file), 7);
        EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
    });
}

TEST(FileSize, CannotBeSetForASequentialFile) {
    const Folder folder;
    with_file(2, call_of(folder.make("data", "content"), {.write_only = true, .sequential = true}),
              [](File& file, Rank) {
                  EXPECT_EQ(kind_of(file.set_size(1)), ErrorKind::unsupported_operation);
                  EXPECT_EQ(kind_of(file.seek(0, Whence::set)), ErrorKind::unsupported_operation);
                  EXPECT_EQ(size_of(file), 7);
              });
}

TEST(FileSize, SynchronizedFlushSyncsAsWell) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate, {{"romio_synchronized_flush", "enable"}}),
              [](File& file, Rank) { EXPECT_EQ(kind_of(file.sync()), ErrorKind::none); });
}

TEST(FilePosition, SeeksFromBeginCurrentAndEnd) {
    const Folder folder;
    with_file(2, call_of(folder.make("data", "content"), kReadWrite), [](File& file, Rank) {
        EXPECT_EQ(kind_of(file.seek(5, Whence::set)), ErrorKind::none);
        EXPECT_EQ(file.position(), 5);
        EXPECT_EQ(kind_of(file.seek(-2, Whence::current)), ErrorKind::none);
        EXPECT_EQ(file.position(), 3);
        EXPECT_EQ(kind_of(file.seek(-1, Whence::end)), ErrorKind::none);
        EXPECT_EQ(file.position(), 6);
        EXPECT_EQ(kind_of(file.seek(100, Whence::end)), ErrorKind::none);
        EXPECT_EQ(file.position(), 107);
    });
}

TEST(FilePosition, IsNeverBeforeTheViewAndStaysAfterAnError) {
    const Folder folder;
    with_file(1, call_of(folder.make("data", "content"), kReadWrite), [](File& file, Rank) {
        EXPECT_EQ(kind_of(file.seek(5, Whence::set)), ErrorKind::none);
        EXPECT_EQ(kind_of(file.seek(-1, Whence::set)), ErrorKind::argument);
        EXPECT_EQ(kind_of(file.seek(-6, Whence::current)), ErrorKind::argument);
        EXPECT_EQ(kind_of(file.seek(-8, Whence::end)), ErrorKind::argument);
        EXPECT_EQ(kind_of(file.seek(INT64_MAX, Whence::current)), ErrorKind::argument);
        EXPECT_EQ(file.position(), 5);
    });
}

TEST(FilePosition, CountsEtypesOfTheView) {
    const Folder folder;
    with_file(2, call_of(folder.make("data", std::string(50, 'x')), kReadWrite),
              [](File& file, Rank rank) {
                  // A rank's view contains 4 of every 8 bytes.
                  EXPECT_EQ(kind_of(file.set_view(view_of(4 * rank, 4, Shape::run(4), 8), {})),
                            ErrorKind::none);
                  EXPECT_EQ(kind_of(file.seek(0, Whence::end)), ErrorKind::none);
                  EXPECT_EQ(file.position(), rank == 0 ? 7 : 6);
                  const auto byte = file.byte_offset(3);
                  EXPECT_EQ(byte ? *byte : -1, 24 + 4 * rank);
                  EXPECT_EQ(kind_of(file.byte_offset(-1)), ErrorKind::argument);
                  EXPECT_EQ(kind_of(file.byte_offset(INT64_MAX / 2)), ErrorKind::argument);
              });
}

TEST(FilePosition, HasNoEndWhereTilesInterleave) {
    const Folder folder;
    with_file(2, call_of(folder.make("data", "content"), kReadWrite), [](File& file, Rank) {
        EXPECT_EQ(
            kind_of(file.set_view(view_of(0, 4, Shape::strided(Shape::run(4), 3, 16), 4), {})),
            ErrorKind::none);
        EXPECT_EQ(kind_of(file.seek(0, Whence::end)), ErrorKind::unsupported_operation);
        EXPECT_EQ(kind_of(file.seek(2, Whence::set)), ErrorKind::none);
    });
}

TEST(FileView, ResetsThePosition) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate), [](File& file, Rank rank) {
        EXPECT_EQ(kind_of(file.seek(9, Whence::set)), ErrorKind::none);
        EXPECT_EQ(kind_of(file.set_view(view_of(8 * rank, 8, Shape::run(8), 24), {})),
                  ErrorKind::none);
        EXPECT_EQ(file.position(), 0);
        EXPECT_EQ(file.view().displacement, 8 * rank);
        EXPECT_EQ(file.view().etype_size, 8);
    });
}

TEST(FileView, BadOnOneRankFailsOnAllRanksAndTheOldOneStays) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            EXPECT_EQ(kind_of(file.set_view(view_of(100, 2, Shape::run(2), 2), {})),
                      ErrorKind::none);
            EXPECT_EQ(kind_of(file.seek(5, Whence::set)), ErrorKind::none);
            const Offset displacement = rank == ranks - 1 ? -1 : 0;
            EXPECT_EQ(kind_of(file.set_view(view_of(displacement, 4, Shape::run(4), 4),
                                            {{"cb_nodes", "1"}})),
                      ErrorKind::argument);
            EXPECT_EQ(file.view().displacement, 100);
            EXPECT_EQ(file.view().etype_size, 2);
            EXPECT_EQ(file.position(), 5);
        });
    }
}

TEST(FileView, EtypesAndRepresentationsMustBeTheSame) {
    for (const int ranks : {2, 3, 4, 7, 8}) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            const bool odd = rank == ranks - 1;
            EXPECT_EQ(kind_of(file.set_view(view_of(0, odd ? 8 : 4, Shape::run(8), 8), {})),
                      ErrorKind::not_same);
            const auto other =
                View::make(0, 4, Shape::run(4), 4, true, odd ? "external32" : "native");
            EXPECT_EQ(kind_of(file.set_view(other, {})), ErrorKind::not_same);
            EXPECT_EQ(file.view().etype_size, 1);
        });
    }
}

TEST(FileAtomicity, NeedsTheSameFlagOnAllRanks) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            EXPECT_FALSE(file.atomicity());
            EXPECT_EQ(kind_of(file.set_atomicity(true)), ErrorKind::none);
            EXPECT_TRUE(file.atomicity());
            EXPECT_EQ(kind_of(file.set_hints({{"cb_nodes", "1"}})), ErrorKind::none);
            EXPECT_TRUE(file.atomicity());
            EXPECT_EQ(kind_of(file.set_atomicity(rank == 0)),
                      ranks == 1 ? ErrorKind::none : ErrorKind::not_same);
            EXPECT_TRUE(file.atomicity());
        });
    }
}

}  // namespace
}  // namespace oratorio::test::file_state_test
