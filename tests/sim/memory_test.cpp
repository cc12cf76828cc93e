// SPDX-License-Identifier: BSD-3-Clause
// Memory that runs out on one rank in the middle of collective calls: the k-th allocation fails, or
// all from the k-th on. Every call must still return the same result on all ranks, and the right
// bytes. The tests try a sample of all k; with ORATORIO_SWEEP=full they try each.
#include <array>
#include <atomic>
#include <cstdlib>

#include "memory/reserve.hpp"
#include "sim/file_ranks.hpp"

namespace {

/// The allocations of a thread that fail.
struct Fault {
    bool of_rank = false;
    bool on = false;
    bool for_good = false;  ///< all later allocations fail, too
    long begins = -1;       ///< number of the allocation that fails, from 0; -1: none
    std::size_t least = 0;  ///< allocations of fewer bytes are not counted and succeed
    long made = 0;
};
thread_local Fault fault;
/// Makes all allocations fail in threads that don't run a rank.
std::atomic<bool> helpers_have_none = false;

bool fails(std::size_t bytes) {
    if (!fault.of_rank) return helpers_have_none;
    if (!fault.on || bytes < fault.least) return false;
    const long number = fault.made++;
    return fault.begins >= 0 && (fault.for_good ? number >= fault.begins : number == fault.begins);
}

}  // namespace

// The linker redirects malloc calls of statically linked code to this function (--wrap=malloc).
extern "C" void* __real_malloc(std::size_t bytes);
extern "C" void* __wrap_malloc(std::size_t bytes) {
    return fails(bytes) ? nullptr : __real_malloc(bytes);
}

namespace oratorio::test {
namespace {

constexpr int kRanks = 3;
constexpr int kPieces = 40;
constexpr Bytes kPiece = 24;
constexpr Bytes kMine = kPieces * kPiece;
constexpr auto kPointer = Positioning::individual;

struct Setting {
    const char* method;
    bool node;  ///< the ranks share memory, as on one node
    const char* store = "posix";
};

/// Makes collective calls of all kinds on one rank, with the fault enabled. Each call must have the
/// same result as without the fault.
class Calls {
  public:
    Calls(File& file, Rank rank) : file_(file), rank_(rank) {}

    void all() {
        const auto view =
            View::make(rank_ * kPiece, 8, Shape::run(kPiece), kRanks * kPiece, true, "native");
        good([&] { return file_.set_view(view, {{"cb_nodes", "2"}}); });
        for (int again = 0; again < 3; ++again) {
            moves(Direction::write, again);
            moves(Direction::read, again);
        }
        under_way();
        good([&] { return file_.set_view(View::bytes(), {}); });
        ordered(Direction::write);
        good([&] { return file_.seek_shared(0, Whence::set); });
        ordered(Direction::read);
        good([&] { return file_.set_hints({{"romio_ds_write", "disable"}}); });
        good([&] { return file_.set_atomicity(true); });
        good([&] { return file_.set_atomicity(false); });
        good([&] { return file_.preallocate(kRanks * kMine); });
        good([&] { return file_.set_size(kRanks * kMine); });
        good([&] { return file_.sync(); });
        good([&] { return file_.close(); });
    }

  private:
    template <class Call>
    static auto faulty(const Call& call) {
        fault.on = true;
        auto result = call();
        fault.on = false;
        return result;
    }
    template <class Call>
    static void good(const Call& call) {
        EXPECT_EQ(kind_of(faulty(call)), ErrorKind::none);
    }
    [[nodiscard]] std::vector<std::byte> data(int salt, Bytes bytes = kMine) const {
        std::vector<std::byte> made(static_cast<std::size_t>(bytes));
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = static_cast<std::byte>(1 + (i * 7 + static_cast<std::size_t>(rank_) * 31 +
                                                  static_cast<std::size_t>(salt)) %
                                                     250);
        return made;
    }
    void check(const Outcome& outcome, const std::vector<std::byte>& got,
               const std::vector<std::byte>& expected) {
        EXPECT_EQ(outcome.error.kind, ErrorKind::none) << outcome.error.what;
        EXPECT_EQ(outcome.bytes, std::ssize(expected));
        EXPECT_TRUE(got == expected);
    }
    void moves(Direction direction, int salt) {
        auto expected = data(salt);
        auto buffer = direction == Direction::write ? expected : data(99);
        const auto call = call_for(direction, buffer, true, Positioning::explicit_offset, 0);
        check(faulty([&] { return file_.access(call); }), buffer, expected);
    }
    void under_way() {
        auto buffer = data(5);
        const auto write = call_for(Direction::write, buffer, true, Positioning::explicit_offset);
        const auto started = faulty([&] { return file_.start(write); });
        check(faulty([&] { return file_.finish(started); }), buffer, data(5));
        auto back = data(99);
        const auto read = call_for(Direction::read, back, true, Positioning::explicit_offset);
        good([&] { return file_.begin_split(read); });
        check(faulty([&] {
                  return file_.end_split(Direction::read, Positioning::explicit_offset,
                                         back.data());
              }),
              back, data(5));
    }
    void ordered(Direction direction) {
        for (const Bytes bytes : {Bytes{64}, kMine}) {
            auto expected = data(7, bytes);
            auto buffer = direction == Direction::write ? expected : data(99, bytes);
            const auto call = call_for(direction, buffer, true, Positioning::shared);
            check(faulty([&] { return file_.access(call); }), buffer, expected);
        }
    }

    File& file_;
    Rank rank_;
};

OpenResult open_for(Transport& transport, const OpenCall& call, bool node) {
    std::unique_ptr<Transport> ranks = std::make_unique<Lent>(transport);
    fault.on = true;
    if (node) {
        auto shared = NodeTransport::over(std::move(ranks));
        if (!shared) return shared.error();
        ranks = std::move(*shared);
    }
    auto file = File::open(std::make_shared<Workspace>(std::move(ranks)), call);
    fault.on = false;
    return file;
}

/// Runs all calls on all ranks and returns the number of the victim's allocations.
long run(const Setting& setting, Rank victim, long begins, bool for_good) {
    const Folder folder;
    const OpenCall call = call_of(folder.file("data"), kCreate,
                                  {{"oratorio_method", setting.method},
                                   {"oratorio_store", setting.store},
                                   {"cb_buffer_size", "9000"}});
    const auto made = on_ranks(kRanks, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        fault = {.of_rank = true, .for_good = for_good, .begins = rank == victim ? begins : -1};
        auto file = open_for(transport, call, setting.node);
        EXPECT_EQ(kind_of(file), ErrorKind::none);
        if (file) Calls(**file, rank).all();
        return std::exchange(fault, {}).made;
    });
    EXPECT_EQ(folder.read("data").size(), static_cast<std::size_t>(kRanks * kMine));
    return made[static_cast<std::size_t>(victim)];
}

bool full_sweep() {
    const char* const sweep = std::getenv("ORATORIO_SWEEP");
    return sweep != nullptr && std::string(sweep) == "full";
}

constexpr auto kSettings = std::to_array<Setting>({
    {"auto", true},
    {"auto", false},
    {"two_phase", false},
    {"two_phase", true},
    {"double_buffer", false, "uring"},
    {"multithreaded", true},
    {"cb_block", false},
    {"cb_cyclic", false, "thread"},
    {"cb_gather", true},
    {"shared_buffer", true},
    {"shared_buffer", true, "uring"},
    {"shared_buffer_list", true},
    {"shared_data", true},
    {"mmap", true},
    {"list_io", false},
    {"disk_directed", true},
    {"one_writer", true},
    {"grouping", true},
    {"prefetch", false},
    {"sieve", false},
    {"naive", true},
});

TEST(Memory, AnAllocationThatFailsOnOneRankMakesNoCallFail) {
    for (const Setting& setting : kSettings) {
        for (Rank victim = 0; victim < kRanks; ++victim) {
            const long all = run(setting, victim, -1, false);
            ASSERT_GT(all, 100) << "the test sees the allocations";
            const long stride = full_sweep() ? 1 : all / 4 + 1;
            for (long k = victim; k < all; k += stride) {
                SCOPED_TRACE(std::string(setting.method) + ", rank " + std::to_string(victim) +
                             ", allocation " + std::to_string(k));
                run(setting, victim, k, false);
            }
        }
    }
    EXPECT_EQ(reserve().used(), 0U) << "all memory was returned";
}

TEST(Memory, TheReserveServesACallWhenMemoryIsExhausted) {
    for (const Setting& setting : kSettings) {
        const long all = run(setting, 1, -1, false);
        const long stride = full_sweep() ? 1 : all / 2 + 1;
        for (long k = 0; k < all; k += stride) {
            SCOPED_TRACE(std::string(setting.method) + ", from allocation " + std::to_string(k));
            run(setting, 1, k, true);
        }
    }
    EXPECT_GT(reserve().most_used(), 0U);
    EXPECT_LT(reserve().most_used(), std::size_t{256} << 10) << "far less than the reserve has";
    EXPECT_EQ(reserve().used(), 0U) << "all memory was returned";
}

/// Number of single bytes that each rank has at irregular distances. Their offset lists are longer
/// than the reserve of memory can hold.
constexpr Bytes kFine = 800'000;

Layout fine_layout(Rank rank) {
    std::vector<Offset> offsets;
    for (Offset i = 0; i < kFine; ++i) offsets.push_back((i * 2 + (i % 3 == 0)) * kRanks + rank);
    const Bytes extent = 2 * kFine * kRanks;
    return {Shape::runs(offsets, std::vector<Bytes>(offsets.size(), 1)), extent, 0, 1};
}

TEST(Memory, CallsSucceedWithoutListsThatAreTooLongForTheReserve) {
    for (const Rank victim : {0, kRanks - 1}) {
        const Folder folder;
        const OpenCall call =
            call_of(folder.file("data"), kCreate, {{"oratorio_method", "shared_buffer_list"}});
        with_file_on_node(kRanks, call, [&](File& file, Rank rank) {
            const Layout layout = fine_layout(rank);
            const auto view = View::make(0, 1, layout.shape, layout.extent, true, "native");
            EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
            std::vector<std::byte> data(kFine, std::byte(rank + 1)), back(kFine);
            const auto write = call_for(Direction::write, data, true, Positioning::explicit_offset);
            const auto read = call_for(Direction::read, back, true, Positioning::explicit_offset);
            fault = {.of_rank = true,
                     .on = rank == victim,
                     .for_good = true,
                     .begins = 0,
                     .least = 512 << 10};
            EXPECT_EQ(file.access(write).error.kind, ErrorKind::none);
            EXPECT_EQ(file.access(read).error.kind, ErrorKind::none);
            EXPECT_EQ(fault.made > 0, rank == victim);
            fault = {};
            EXPECT_TRUE(back == data);
        });
    }
}

/// Returns the number of allocations that a call makes on this thread.
template <class Call>
long allocations_in(const Call& call) {
    fault = {.of_rank = true, .on = true};
    call();
    return std::exchange(fault, {}).made;
}

TEST(Memory, OnePieceThroughAContiguousViewTakesNoAllocation) {
    const Folder folder;
    const OpenCall call = call_of(folder.file("data"), kCreate);
    with_file(1, call, [&](File& file, Rank) {
        const auto of_tiles = View::make(8, 8, Shape::run(4096), 4096, true, "native");
        for (const auto& view : {Result<View>(View::bytes()), of_tiles}) {
            EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
            for (const Direction direction : {Direction::write, Direction::read}) {
                std::vector<std::byte> data(512, std::byte(7));
                Outcome outcome;
                EXPECT_EQ(allocations_in([&] {
                              auto access =
                                  call_for(direction, data, false, Positioning::explicit_offset, 4);
                              fault.made = 0;
                              outcome = file.access(std::move(access));
                          }),
                          0);
                EXPECT_EQ(outcome.bytes, 512);
            }
        }
    });
}

TEST(Memory, PiecesOfAListTakeNoAllocationEach) {
    const Folder folder;
    const OpenCall call = call_of(folder.file("data"), kCreate,
                                  {{"oratorio_method", "list_io"}, {"romio_ds_write", "disable"}});
    constexpr Bytes kListed = 2048;
    with_file(1, call, [&](File& file, Rank) {
        const auto view = View::make(0, 1, Shape::run(kListed), 3 * kListed, true, "native");
        EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
        const auto allocations = [&](Direction direction, int pieces) {
            std::vector<std::byte> data(static_cast<std::size_t>(pieces * kListed), std::byte(7));
            const auto access = call_for(direction, data, false, Positioning::explicit_offset);
            return allocations_in([&] { EXPECT_EQ(file.access(access).bytes, pieces * kListed); });
        };
        for (const Direction direction : {Direction::write, Direction::read}) {
            for (const int pieces : {1000, 100, 1000, 100})
                allocations(direction, pieces);  // the first accesses fill the caches
            const long of_many = allocations(direction, 1000);
            const long of_few = allocations(direction, 100);
            EXPECT_EQ(of_many, of_few);
        }
    });
}

TEST(Memory, AHelperThreadSurvivesExhaustedMemory) {
    fault = {.of_rank = true};  // the test's own thread must not fail like a helper thread
    helpers_have_none = true;
    for (const char* store : {"posix", "thread", "uring"}) {
        SCOPED_TRACE(store);
        run({"multithreaded", true, store}, 0, -1, false);
    }
    helpers_have_none = false;
    EXPECT_EQ(reserve().used(), 0U);
}

TEST(Memory, NoMemoryAtAllIsAnErrorOfAllRanksBeforeTheFirstMessage) {
    // Takes memory from the reserve until too little is left for a collective call. The reserve
    // then maps no more memory, because it has kArenas arenas already.
    std::vector<void*> taken;
    while (ready_for_collective(kRanks).kind == ErrorKind::none) {
        void* const one = reserve().take(64 << 10);
        ASSERT_NE(one, nullptr);
        taken.push_back(one);
    }
    const Folder folder;
    const auto kinds = on_ranks(kRanks, [&](Transport& transport) {
        return kind_of(open_on(transport, call_of(folder.file("data"), kCreate)));
    });
    for (const ErrorKind kind : kinds) EXPECT_EQ(kind, ErrorKind::no_memory);
    EXPECT_FALSE(folder.has("data"));
    for (void* const one : taken) EXPECT_TRUE(reserve().give_back(one));
    with_file(kRanks, call_of(folder.file("data"), kCreate), [](File&, Rank) {});
}

}  // namespace
}  // namespace oratorio::test
