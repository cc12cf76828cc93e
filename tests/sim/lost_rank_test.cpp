// SPDX-License-Identifier: BSD-3-Clause
// A message of one rank fails in the middle of a collective access. The other ranks learn of it
// while they wait, so that the access is an error on all ranks and none waits forever.
#include "sim/file_ranks.hpp"
#include "support/leader_ranks.hpp"

namespace oratorio::test::lost_rank_test {
namespace {

using Buffer = std::vector<std::byte>;

constexpr int kRanks = 4;
constexpr Bytes kPiece = 40;
constexpr std::size_t kMine = 4000;

struct Ends {
    std::vector<ErrorKind> write;
    std::vector<ErrorKind> read;
};

std::unique_ptr<Transport> transport_of(Transport& ranks) {
    auto over = NodeTransport::over(std::make_unique<Lent>(ranks), [&ranks] {
        return Result<std::unique_ptr<Transport>>(LeaderRanks::of(ranks));
    });
    return over ? std::move(*over) : nullptr;
}

/// Writes interleaved pieces once and reads them once. Returns both results; a failed open counts
/// as a failed write.
Ends ends_of(const SimOptions& options, const HintMap& hints) {
    const Folder folder;
    Ends ends{std::vector<ErrorKind>(kRanks), std::vector<ErrorKind>(kRanks)};
    run_ranks(options, [&](Transport& ranks) {
        const auto rank = static_cast<std::size_t>(ranks.topology().rank);
        auto transport = transport_of(ranks);
        auto file = transport == nullptr
                        ? OpenResult(Error::make(ErrorKind::other, "no transport"))
                        : File::open(std::make_shared<Workspace>(std::move(transport)),
                                     call_of(folder.file("data"), kCreate, hints));
        ends.write[rank] = ends.read[rank] = kind_of(file);
        if (!file) return;
        (void)(*file)->set_view(View::make(kPiece * static_cast<Bytes>(rank), 1, Shape::run(kPiece),
                                           kPiece * kRanks, true, "native"),
                                {});
        Buffer mine(kMine, std::byte(rank + 1)), back(kMine);
        ends.write[rank] = (*file)->access(call_for(Direction::write, mine, true)).error.kind;
        (void)(*file)->seek(0, Whence::set);
        ends.read[rank] = (*file)->access(call_for(Direction::read, back, true)).error.kind;
        (void)(*file)->close();
    });
    return ends;
}

TEST(LostRank, a_failed_send_is_an_error_on_all_ranks_and_no_rank_hangs) {
    const std::vector<ErrorKind> good(kRanks, ErrorKind::none);
    const std::vector<ErrorKind> bad(kRanks, ErrorKind::other);
    int failed = 0;
    for (const char* method : {"two_phase", "two_layer", "two_layer_shared", "sparse", "auto"})
        for (const int ranks_per_node : {0, 2})
            for (const Rank who : {0, 1, kRanks - 1})
                for (std::uint64_t send = 1; send <= 40; send += 3) {
                    const SimOptions options{.ranks = kRanks,
                                             .seed = send,
                                             .ranks_per_node = ranks_per_node,
                                             .fail_rank = who,
                                             .fail_send = send,
                                             .failure_is_told = true};
                    SCOPED_TRACE(std::string(method) + ", " + std::to_string(ranks_per_node) +
                                 " ranks a node, send " + std::to_string(send) + " of rank " +
                                 std::to_string(who));
                    const Ends ends =
                        ends_of(options, {{"oratorio_method", method}, {"cb_buffer_size", "8192"}});
                    // Between nodes, the message that fails may be the last of an access, which has
                    // then succeeded on the ranks that had already received their messages.
                    if (ranks_per_node == 0) {
                        EXPECT_TRUE(ends.write == good || ends.write == bad);
                        EXPECT_TRUE(ends.read == good || ends.read == bad);
                    }
                    EXPECT_TRUE(ends.write == good || ends.read == bad);
                    failed += ends.read == bad ? 1 : 0;
                }
    EXPECT_GE(failed, 60);
}

}  // namespace
}  // namespace oratorio::test::lost_rank_test
