// SPDX-License-Identifier: BSD-3-Clause
// Data shipping: accesses to a file are shipped to agents. The agents are real threads of the
// simulated ranks, which are reached by TCP.
#include <sys/resource.h>

#include <csignal>

#include "sim/file_ranks.hpp"

namespace oratorio::test::shipping_test {
namespace {

constexpr Bytes kBlock = 1000;
constexpr Bytes kMine = 4000;
constexpr auto kAt = Positioning::explicit_offset;

const char* const kMethods[] = {"data_shipping", "datatype_io"};

HintMap shipped(const std::string& method, int agents = 2) {
    return {{"oratorio_method", method},
            {"oratorio_agents", std::to_string(agents)},
            {"oratorio_ship_block", std::to_string(kBlock)}};
}

/// Returns hints with which agents perform each request separately, in collective calls, too.
HintMap uncombined(const std::string& method) {
    HintMap hints = shipped(method);
    hints["romio_cb_write"] = hints["romio_cb_read"] = "disable";
    return hints;
}

std::vector<std::byte> data_of(Rank rank) {
    return std::vector<std::byte>(kMine, static_cast<std::byte>(rank + 1));
}

/// Returns a view of every `ranks`-th piece of 100 bytes, from piece `rank` on.
Result<View> view_of(Rank rank, int ranks) {
    return View::make(rank * 100, 1, Shape::run(100), ranks * 100, true, "native");
}

struct Told {
    Stats stats;
    std::vector<std::string> said;
};

/// Opens a file, writes to it and reads back. If `collective` is false, the accesses are
/// independent, so that agents must work while their ranks are in no call.
Told write_and_read(const HintMap& hints, int ranks, bool collective) {
    const Folder folder;
    Told told;
    OpenCall call = call_of(folder.file("data"), kCreate, hints);
    call.explain = call.explain_all = true;
    call.narrate = [&](const std::string& text) { told.said.push_back(text); };
    with_file(ranks, call, [&](File& file, Rank rank) {
        EXPECT_EQ(kind_of(file.set_view(view_of(rank, ranks), {})), ErrorKind::none);
        std::vector<std::byte> mine = data_of(rank);
        EXPECT_EQ(file.access(call_for(Direction::write, mine, collective, kAt)).bytes, kMine);
        std::vector<std::byte> back(mine.size());
        EXPECT_EQ(file.access(call_for(Direction::read, back, collective, kAt)).bytes, kMine);
        EXPECT_EQ(back, mine);
        // The end of this read is past the end of the file.
        if (rank == ranks - 1) {
            const auto half =
                file.access(call_for(Direction::read, back, false, kAt, kMine / 2 + 50));
            EXPECT_TRUE(collective || half.bytes >= kMine / 2 - 50);
        }
        if (rank == 0) told.stats = file.stats();
    });
    return told;
}

bool says(const Told& told, const std::string& text) {
    return std::ranges::any_of(
        told.said, [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

TEST(Shipping, EveryAccessIsShippedToTheAgentsOfItsBlocks) {
    for (const std::string method : kMethods) {
        for (const bool collective : {false, true}) {
            for (const int ranks : {1, 2, 5}) {
                SCOPED_TRACE(method + ", ranks " + std::to_string(ranks));
                const Told told = write_and_read(uncombined(method), ranks, collective);
                // One request goes to each agent for the write, and one for the read.
                const auto agents = static_cast<std::uint64_t>(std::min(ranks, 2));
                // This is the request of the read across the end of the file.
                const std::uint64_t more = ranks == 1 ? 1 : 0;
                EXPECT_EQ(told.stats.requests_shipped, 2 * agents + more);
                EXPECT_EQ(told.stats.requests_shared, told.stats.requests_shipped);
                EXPECT_EQ(told.stats.bytes_stored, static_cast<std::uint64_t>(kMine));
                EXPECT_TRUE(says(told, "method " + method + " (requested by name)"));
                const std::string who = ranks == 1 ? "0" : ranks == 2 ? "0 1" : "0 2";
                EXPECT_TRUE(says(told, "agents       " + who +
                                           ", 2 threads each, for blocks of "
                                           "1000 bytes in turn"));
            }
        }
    }
}

/// Agents serve independent requests in their own threads, and combine collective requests inside
/// the calls of their ranks. Each kind of access sees the data that the other kind has written.
TEST(Shipping, CombinedAndIndependentAccessesOfAgentsAreOneFile) {
    for (const int ranks : {1, 2, 5}) {
        const Told told = write_and_read(shipped("data_shipping"), ranks, true);
        EXPECT_EQ(told.stats.requests_shipped, ranks == 1 ? 1U : 0U) << "the independent read";
        EXPECT_TRUE(says(told, "file domains blocks of 1000 bytes, bound to the agents in turn"));
        EXPECT_FALSE(says(told, "each request by itself: hint"));
        const Folder folder;
        with_file(ranks, call_of(folder.file("data"), kCreate, shipped("data_shipping")),
                  [&](File& file, Rank rank) {
                      const Rank next = (rank + 1) % ranks;
                      std::vector<std::byte> mine = data_of(rank);
                      std::vector<std::byte> back(mine.size());
                      file.access(call_for(Direction::write, mine, false, kAt, rank * kMine));
                      EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
                      file.access(call_for(Direction::read, back, true, kAt, next * kMine));
                      EXPECT_EQ(back, data_of(next)) << "written by requests of one rank";
                      file.access(call_for(Direction::write, mine, true, kAt, next * kMine));
                      EXPECT_EQ(kind_of(file.sync()), ErrorKind::none);
                      file.access(call_for(Direction::read, back, false, kAt, rank * kMine));
                      EXPECT_EQ(back, data_of((rank + ranks - 1) % ranks)) << "written combined";
                  });
    }
}

/// Requests to agents on other nodes are sent as messages. A rank shares memory only with the
/// agents of its own node.
TEST(Shipping, DataForOtherNodesIsSentAsMessages) {
    for (const std::string method : kMethods) {
        const Folder folder;
        const OpenCall call = call_of(folder.file("data"), kCreate, shipped(method));
        run_ranks({.ranks = 4, .seed = 3, .ranks_per_node = 2}, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            auto file = open_on(transport, call);
            ASSERT_EQ(kind_of(file), ErrorKind::none);
            std::vector<std::byte> mine = data_of(rank);
            EXPECT_EQ(
                (*file)->access(call_for(Direction::write, mine, false, kAt, rank * kMine)).bytes,
                kMine);
            // The access touches four blocks, which belong in turn to two agents, one on each node.
            EXPECT_EQ((*file)->stats().requests_shipped, 2U);
            EXPECT_EQ((*file)->stats().requests_shared, 1U);
            EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::none);
            std::vector<std::byte> back(mine.size());
            EXPECT_EQ(
                (*file)->access(call_for(Direction::read, back, true, kAt, rank * kMine)).bytes,
                kMine);
            EXPECT_EQ(back, mine);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        });
    }
}

TEST(Shipping, ALayoutTakesFewerBytesThanItsPieces) {
    std::uint64_t bytes[2] = {};
    for (int i = 0; i < 2; ++i) {
        const Folder folder;
        OpenCall call = call_of(folder.file("data"), kCreate, shipped(kMethods[i], 1));
        with_file(1, call, [&](File& file, Rank) {
            // The pieces are at distances that no stride describes.
            std::vector<Offset> offsets;
            for (Offset k = 0; k < 500; ++k) offsets.push_back(k * 20 + k % 3);
            const ShapePtr shape =
                Shape::runs(offsets, std::vector<Bytes>(offsets.size(), Bytes{1}));
            EXPECT_EQ(kind_of(file.set_view(View::make(0, 1, shape, 10000, true, "native"), {})),
                      ErrorKind::none);
            std::vector<std::byte> mine(100 * 500, std::byte{5});
            EXPECT_EQ(file.access(call_for(Direction::write, mine, false, kAt)).bytes,
                      static_cast<Bytes>(mine.size()));
            bytes[i] = file.stats().request_bytes - mine.size();
        });
    }
    EXPECT_LT(bytes[1], bytes[0] / 2);
}

/// Makes writes past the first `bytes` bytes of a file fail (RLIMIT_FSIZE), without the signal.
class ShortFiles {
  public:
    explicit ShortFiles(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit few{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &few);
        signal_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~ShortFiles() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, signal_);
    }

  private:
    rlimit before_{};
    void (*signal_)(int);
};

TEST(Shipping, AFailedWriteIsAnErrorOfTheCallThatGaveTheBytes) {
    for (const std::string method : kMethods) {
        const Folder folder;
        const ShortFiles limit(6500);
        with_file(3, call_of(folder.file("data"), kCreate, shipped(method)),
                  [](File& file, Rank rank) {
                      std::vector<std::byte> mine = data_of(rank);
                      const Outcome done =
                          file.access(call_for(Direction::write, mine, false, kAt, rank * kMine));
                      const Bytes whole = std::clamp<Bytes>(6500 - rank * kMine, 0, kMine);
                      EXPECT_EQ(done.bytes, whole);
                      EXPECT_EQ(done.error.kind == ErrorKind::none, whole == kMine);
                      if (whole < kMine) {
                          EXPECT_EQ(done.error.system_errno, EFBIG);
                          EXPECT_EQ(done.error.rank, rank);
                      }
                      EXPECT_EQ(kind_of(file.sync()), ErrorKind::none) << "it was reported already";
                      std::vector<std::byte> back(100);
                      const Outcome again =
                          file.access(call_for(Direction::read, back, false, kAt, rank * kMine));
                      EXPECT_EQ(again.bytes, std::min<Bytes>(100, whole)) << "the next call works";
                  });
    }
}

/// Limits the number of this process's descriptors to `most`.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t most) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit few{.rlim_cur = most, .rlim_max = before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

/// The agent threads of one rank cannot get their descriptors. Then no rank ships accesses, and
/// each still writes its bytes by another method.
TEST(Shipping, WithoutAgentsUsesAnotherMethodAndWarns) {
    const FewDescriptors few(60);
    const Folder folder;
    std::vector<std::string> said;
    HintMap hints = shipped("data_shipping", 1);
    hints["oratorio_agent_threads"] = "64";
    OpenCall call = call_of(folder.file("data"), kCreate, hints);
    call.narrate = [&](const std::string& text) { said.push_back(text); };
    with_file(3, call, [](File& file, Rank rank) {
        std::vector<std::byte> mine = data_of(rank);
        EXPECT_EQ(file.access(call_for(Direction::write, mine, false, kAt, rank * kMine)).bytes,
                  kMine);
        EXPECT_EQ(file.stats().requests_shipped, 0U);
    });
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("using another method, because there are no agents"), std::string::npos)
        << said[0];
    EXPECT_NE(said[0].find("EMFILE"), std::string::npos) << said[0];
}

TEST(Shipping, AHintThatComesAfterOpenFindsNoAgents) {
    const Folder folder;
    std::vector<std::string> said;
    OpenCall call = call_of(folder.file("data"), kCreate);
    call.explain = call.explain_all = true;
    call.narrate = [&](const std::string& text) { said.push_back(text); };
    with_file(2, call, [](File& file, Rank rank) {
        EXPECT_EQ(kind_of(file.set_hints(shipped("data_shipping"))), ErrorKind::none);
        std::vector<std::byte> mine = data_of(rank);
        EXPECT_EQ(file.access(call_for(Direction::write, mine, true, kAt, rank * kMine)).bytes,
                  kMine);
    });
    EXPECT_NE(said[0].find(": hints"), std::string::npos);
    EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& each) {
        return each.find("no hint requested them when the file was opened") != std::string::npos;
    }));
}

}  // namespace
}  // namespace oratorio::test::shipping_test
