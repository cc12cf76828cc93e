// SPDX-License-Identifier: BSD-3-Clause
// The method `mmap` on a file system that cannot extend a file for mappings, because it has no
// fallocate (ext2, ext3, ramfs and NFS 3, for example). The pieces are still written.
#include <sys/syscall.h>

#include <cerrno>

#include "sim/file_ranks.hpp"
#include "support/forbidden_calls.hpp"

namespace oratorio::test::unmapped_test {
namespace {

constexpr Bytes kPiece = 64;
constexpr std::int64_t kPieces = 1000;

/// Makes every rank write its pieces, which alternate with those of the other ranks, and read them
/// back.
void write_and_read(File& file, Rank rank, Rank ranks, bool collective) {
    const auto view =
        View::make(rank * kPiece, 1, Shape::run(kPiece), ranks * kPiece, true, "native");
    ASSERT_TRUE(file.set_view(view, {}).ok());
    std::vector<std::byte> bytes(static_cast<std::size_t>(kPiece * kPieces),
                                 static_cast<std::byte>(rank + 1));
    const Outcome written =
        file.access(call_for(Direction::write, bytes, collective, Positioning::explicit_offset));
    EXPECT_EQ(written.error.kind, ErrorKind::none) << describe(written.error, "");
    EXPECT_EQ(written.bytes, kPiece * kPieces);
    ASSERT_TRUE(file.sync().ok());
    std::vector<std::byte> back(bytes.size());
    const Outcome read =
        file.access(call_for(Direction::read, back, collective, Positioning::explicit_offset));
    EXPECT_EQ(read.bytes, kPiece * kPieces);
    EXPECT_EQ(back, bytes);
}

void try_all(Rank ranks, bool collective) {
    const Folder folder;
    with_file(ranks, call_of(folder.file("data"), kCreate, {{"oratorio_method", "mmap"}}),
              [&](File& file, Rank rank) { write_and_read(file, rank, ranks, collective); });
    EXPECT_EQ(folder.read("data").size(), static_cast<std::size_t>(ranks * kPiece * kPieces));
}

TEST(Unmapped, PiecesAreWrittenWhereAFileCanNotBeMadeLongerForMappings) {
    for (const int number : {EOPNOTSUPP, ENOSYS, EPERM}) {
        for (const Rank ranks : {1, 3}) {
            for (const bool collective : {false, true}) {
                in_sandbox([=] {
                    if (forbid({SYS_fallocate}, number)) try_all(ranks, collective);
                });
            }
        }
    }
}

}  // namespace
}  // namespace oratorio::test::unmapped_test
