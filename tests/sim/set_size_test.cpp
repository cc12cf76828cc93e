// SPDX-License-Identifier: BSD-3-Clause
// Which ranks set a file's size: where clients cache an old size, one rank of each node does. The
// linker redirects the library's system calls to this file (--wrap).
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "sim/file_ranks.hpp"

namespace oratorio::test {
namespace {

constexpr long kFuse = 0x65735546;
constexpr long kExt4 = 0xEF53;
constexpr long kLustre = 0x0BD00BD0;

struct Watched {
    std::atomic<long> type = 0;      ///< file system type to report; 0: the real one
    std::atomic<Rank> refused = -1;  ///< the rank with an ftruncate that fails; -1: none
};
Watched watched;
struct OfRank {
    Rank rank = -1;
    int cuts = 0;
};
thread_local OfRank of_rank;

struct Told {
    int cuts = 0;
    Bytes size = 0;
    ErrorKind result = ErrorKind::none;
};

/// Sets the size of a file of 12000 bytes to 9000, on four ranks on two nodes. Returns the result
/// of each rank.
std::vector<Told> set_size(long type, Rank refused = -1) {
    const Folder folder;
    const std::string path = folder.make("data", std::string(12'000, 'x'));
    std::vector<Told> told(4);
    watched.type = type;
    watched.refused = refused;
    SimOptions options;
    options.ranks = 4;
    options.ranks_per_node = 2;
    run_ranks(options, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        Told& mine = told[static_cast<std::size_t>(rank)];
        auto workspace = std::make_shared<Workspace>(std::make_unique<Lent>(transport));
        auto file = File::open(workspace, call_of(path, kReadWrite));
        ASSERT_TRUE(file.ok());
        of_rank = {rank, 0};
        mine.result = kind_of((*file)->set_size(9000));
        mine.cuts = of_rank.cuts;
        of_rank = {};
        if (const auto size = (*file)->size(); size) mine.size = *size;
        EXPECT_TRUE((*file)->close().ok());
    });
    watched.type = 0;
    return told;
}

std::vector<int> cuts_of(const std::vector<Told>& told) {
    std::vector<int> cuts;
    for (const Told& one : told) cuts.push_back(one.cuts);
    return cuts;
}

TEST(SetSize, IsDoneByOneRankOfEachNodeWhereClientsKeepAnOldSize) {
    const auto told = set_size(kFuse);
    EXPECT_EQ(cuts_of(told), (std::vector<int>{1, 0, 1, 0}));
    for (const Told& one : told) {
        EXPECT_EQ(one.result, ErrorKind::none);
        EXPECT_EQ(one.size, 9000);
    }
}

TEST(SetSize, IsDoneByOneRankWhereTheyDoNot) {
    for (const long type : {kExt4, kLustre})
        EXPECT_EQ(cuts_of(set_size(type)), (std::vector<int>{1, 0, 0, 0}));
}

TEST(SetSize, ThatFailsOnAnyNodeIsAnErrorOfAllRanks) {
    for (const Rank refused : {0, 2})
        for (const Told& one : set_size(kFuse, refused)) EXPECT_EQ(one.result, ErrorKind::no_space);
}

}  // namespace
}  // namespace oratorio::test

// NOLINTBEGIN(bugprone-reserved-identifier)
using oratorio::test::of_rank;
using oratorio::test::watched;

extern "C" {

int __real_statfs(const char* path, struct statfs* facts);
int __wrap_statfs(const char* path, struct statfs* facts) {
    const int result = __real_statfs(path, facts);
    if (watched.type != 0 && result == 0) facts->f_type = static_cast<__fsword_t>(watched.type);
    return result;
}

int __real_fstatfs(int descriptor, struct statfs* facts);
int __wrap_fstatfs(int descriptor, struct statfs* facts) {
    const int result = __real_fstatfs(descriptor, facts);
    if (watched.type != 0 && result == 0) facts->f_type = static_cast<__fsword_t>(watched.type);
    return result;
}

int __real_ftruncate(int descriptor, off_t bytes);
int __wrap_ftruncate(int descriptor, off_t bytes) {
    ++of_rank.cuts;
    if (of_rank.rank >= 0 && of_rank.rank == watched.refused) {
        errno = ENOSPC;
        return -1;
    }
    return __real_ftruncate(descriptor, bytes);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
