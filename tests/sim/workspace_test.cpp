// SPDX-License-Identifier: BSD-3-Clause
// Files that use a workspace one after the other. No state of one file may affect the next,
// whatever the methods and the interleaving.
#include "file/workspace.hpp"

#include "comm/node_transport.hpp"
#include "sim/file_ranks.hpp"

namespace oratorio::test::workspace_test {
namespace {

constexpr Bytes kPiece = 16;
constexpr Bytes kPieces = 50;

/// Writes the rank's pieces to the file at `path` by `method`, and reads them back.
void use_file(const std::shared_ptr<Workspace>& workspace, const std::string& path,
              const std::string& method, int salt) {
    auto opened = File::open(workspace, call_of(path, kCreate, {{"oratorio_method", method}}));
    ASSERT_EQ(kind_of(opened), ErrorKind::none) << method;
    File& file = **opened;
    const Topology& topology = file.transport().topology();
    const auto view = View::make(kPiece * topology.rank, 1, Shape::run(kPiece),
                                 kPiece * topology.size, true, "native");
    ASSERT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
    std::vector<std::byte> mine(kPiece * kPieces, std::byte(salt * 16 + topology.rank));
    std::vector<std::byte> back(mine.size());
    AccessCall call;
    call.collective = true;
    call.at = Positioning::explicit_offset;
    call.memory = Layout{Shape::run(std::ssize(mine)), std::ssize(mine), 0, 1};
    for (int again = 0; again < 2; ++again) {
        call.direction = Direction::write;
        call.buffer = mine.data();
        EXPECT_EQ(file.access(call).error.kind, ErrorKind::none) << method;
        call.direction = Direction::read;
        call.buffer = back.data();
        EXPECT_EQ(file.access(call).error.kind, ErrorKind::none) << method;
        EXPECT_EQ(back, mine) << method << " after other files";
    }
    EXPECT_EQ(kind_of(file.close()), ErrorKind::none);
}

TEST(Workspace, FilesFollowEachOtherInIt) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Folder folder;
        run_ranks({.ranks = 4, .seed = seed}, [&](Transport& transport) {
            auto ranks = NodeTransport::over(std::make_unique<Lent>(transport));
            ASSERT_TRUE(ranks.ok());
            const auto workspace = std::make_shared<Workspace>(std::move(*ranks));
            int number = 0;
            for (const char* method : {"shared_buffer", "shared_buffer", "two_phase", "shared_data",
                                       "shared_buffer_list", "auto", "shared_buffer"}) {
                use_file(workspace, folder.file(std::to_string(number)), method, number);
                EXPECT_TRUE(workspace->transport->quiet());
                workspace->tidy();
                ++number;
            }
            EXPECT_EQ(workspace->numbers.next(), 7U * 4U);
        });
    }
}

TEST(Workspace, RefusedNodeMemoryMayBeRequestedAgainForTheNextFile) {
    Workspace workspace(nullptr);
    workspace.node = NodeMemory(Error::make(ErrorKind::quota, "shared memory"));
    workspace.tidy();
    EXPECT_FALSE(workspace.node.shared_refused() || workspace.node.cross_memory_refused());
    EXPECT_EQ(workspace.node.refusal().kind, ErrorKind::none);
}

TEST(Workspace, UnusedMemoryIsFreedDownToALimit) {
    BufferPool pool;
    {
        const auto in_use = pool.take(8 << 10);
        { const auto idle = pool.take(4 << 10), other = pool.take(64 << 10); }
        EXPECT_EQ(pool.held(), 76 << 10);
        pool.trim(80 << 10);
        EXPECT_EQ(pool.held(), 76 << 10);
        pool.trim(0);
        EXPECT_EQ(pool.held(), 8 << 10);
    }
    pool.trim(0);
    EXPECT_EQ(pool.held(), 0);
}

}  // namespace
}  // namespace oratorio::test::workspace_test
