// SPDX-License-Identifier: BSD-3-Clause
// File accesses whose buffers are in device memory, which this process cannot touch. All kinds of
// calls are made, both with data that is staged in pieces and with data that is staged as a whole.
#include <algorithm>
#include <functional>

#include "sim/device_case.hpp"
#include "type/copy.hpp"

namespace oratorio::test {
namespace {

ORATORIO_ON_BOTH_DRIVERS;

TEST_P(OnDevice, AccessesOfOneRankGoInPieces) {
    const Bytes bytes = 2 * kPiece + 12'345;
    std::byte* const out = filled(bytes, 3);
    std::byte* const in = empty(bytes);
    with_file(1, opening(), [&](File& file, Rank) {
        expect_done(file.access(call(kWriting, out, bytes, false, 5)), bytes);
        EXPECT_EQ(device_.counts().copies, 3);
        EXPECT_EQ(device_.counts().bytes, bytes);
        EXPECT_EQ(device_.counts().pins, 1);
        expect_done(file.access(call(kReading, in, bytes, false, 5)), bytes);
        EXPECT_EQ(device_.counts().copies, 6);
        EXPECT_EQ(device_.counts().bytes, 2 * bytes);
        EXPECT_EQ(device_.counts().pins, 1);
        EXPECT_EQ(device_.counts().streams, 0);
    });
    EXPECT_TRUE(is_filled(in, bytes, 3));
    const std::string content = folder_.read("data");
    ASSERT_EQ(std::ssize(content), 5 + bytes);
    EXPECT_TRUE(holds(content, 5, bytes, 3));
}

TEST_P(OnDevice, ReadsAreShortAtTheEndOfTheFile) {
    const Bytes there = kPiece + 100;
    std::byte* const out = filled(there, 9);
    std::byte* const in = filled(3 * kPiece, 1);
    with_file(1, opening(), [&](File& file, Rank) {
        expect_done(file.access(call(kWriting, out, there, false)), there);
        expect_done(file.access(call(kReading, in, 3 * kPiece, false)), there);
        expect_done(file.access(call(kReading, in, kPiece, false, there)), 0);
    });
    EXPECT_TRUE(is_filled(in, there, 9));
    EXPECT_EQ(device_.data(in)[there], byte_at(there, 1));
}

TEST_P(OnDevice, AreGatheredAndScatteredByTheDriversStridedCopies) {
    std::byte* const out = filled(1 << 20, 7);
    std::byte* const in = empty(1 << 20);
    with_file(1, opening(), [&](File& file, Rank) {
        const auto form = [&](Direction direction, std::byte* memory) {
            return strided(call(direction, memory, 1 << 20, false), 1000, 200, 4000);
        };
        expect_done(file.access(form(kWriting, out)), 200'000);
        EXPECT_EQ(device_.counts().copies, 1);
        EXPECT_EQ(device_.counts().row_copies, 1);
        expect_done(file.access(form(kReading, in)), 200'000);
        EXPECT_EQ(device_.counts().copies, 2);
        EXPECT_EQ(device_.counts().row_copies, 2);
    });
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(std::memcmp(device_.data(in) + 4000 * i, device_.data(out) + 4000 * i, 1000), 0);
        EXPECT_EQ(device_.data(in)[4000 * i + 1000], std::byte{0});
    }
}

TEST_P(OnDevice, PiecesFollowAViewAlsoWithinItsPieces) {
    const Bytes bytes = kPiece + 777;
    std::byte* const out = filled(bytes, 2);
    std::byte* const in = empty(bytes);
    with_file(2, opening(), [&](File& file, Rank rank) {
        View view = View::bytes();
        view.file = Layout{Shape::run(1000), 2000, 1000 * rank, Layout::unbounded};
        ASSERT_TRUE(file.set_view(view, {}).ok());
        expect_done(file.access(call(kWriting, out, bytes, false, 17)), bytes);
        if (rank == 1) expect_done(file.access(call(kReading, in, bytes, false, 17)), bytes);
    });
    EXPECT_TRUE(is_filled(in, bytes, 2));
    const std::string content = folder_.read("data");
    for (const Rank rank : {0, 1})
        for (Bytes i = 0; i < bytes; ++i) {
            const Bytes at = i + 17;
            const auto place = static_cast<std::size_t>(at / 1000 * 2000 + at % 1000 + 1000 * rank);
            ASSERT_EQ(std::byte(content[place]), byte_at(i, 2)) << rank << " " << i;
        }
}

TEST_P(OnDevice, AllWaysToPlaceAnAccess) {
    constexpr Bytes kBytes = 1000;
    std::vector<std::byte*> out = {filled(kBytes, 0), filled(kBytes, 1)};
    const OpenCall open = opening();
    with_file_on_node(2, open, [&](File& file, Rank rank) {
        std::byte* const mine = out[static_cast<std::size_t>(rank)];
        ASSERT_TRUE(file.seek(rank * kBytes, Whence::set).ok());
        // Writes with the individual pointer, ordered, independently with the shared pointer, and
        // in atomic mode, in this order.
        for (const bool collective : {false, true}) {
            const auto form = call(kWriting, mine, kBytes, collective, 0, Positioning::individual);
            expect_done(file.access(form), kBytes);
            EXPECT_EQ(file.position(), (rank + (collective ? 2 : 1)) * kBytes);
        }
        ASSERT_TRUE(file.seek_shared(10 * kBytes, Whence::set).ok());
        expect_done(file.access(call(kWriting, mine, kBytes, true, 0, kShared)), kBytes);
        expect_done(file.access(call(kWriting, mine, kBytes, false, 0, kShared)), kBytes);
        ASSERT_TRUE(file.set_atomicity(true).ok());
        expect_done(file.access(call(kWriting, mine, kBytes, false, (20 + rank) * kBytes)), kBytes);
    });
    const std::string content = folder_.read("data");
    ASSERT_EQ(std::ssize(content), 22 * kBytes);
    for (const int at : {10, 20})
        for (const int rank : {0, 1})
            EXPECT_TRUE(
                holds(content, static_cast<std::size_t>((at + rank) * kBytes), kBytes, rank));
    const bool first = holds(content, 12 * kBytes, kBytes, 0);
    EXPECT_TRUE(holds(content, 12 * kBytes, kBytes, first ? 0 : 1));
    EXPECT_TRUE(holds(content, 13 * kBytes, kBytes, first ? 1 : 0));
}

TEST_P(OnDevice, FindsTheDriverForAnyKindOfFirstAccess) {
    constexpr Bytes kBytes = 1000;
    std::vector<std::byte*> out = {filled(kBytes, 0), filled(kBytes, 1)};
    const auto strided_view = [](Rank rank) {
        return View::make(rank * 10, 1, Shape::run(10), 20, true, "native");
    };
    using First = std::function<Outcome(File&, const AccessCall&)>;
    const First blocking = [](File& file, const AccessCall& form) { return file.access(form); };
    const First started = [](File& file, const AccessCall& form) {
        return file.finish(file.start(form));
    };
    for (const First& first : {blocking, started})
        for (const Positioning at : {kAt, Positioning::individual, kShared})
            for (const bool collective : {false, true})
                for (const bool view : {false, true})
                    for (const int ranks : {1, 2}) {
                        SCOPED_TRACE(std::to_string(static_cast<int>(at)) + " " +
                                     std::to_string(collective) + std::to_string(view));
                        Devices fresh;
                        OpenCall open = opening();
                        open.devices = &fresh;
                        with_file_on_node(ranks, open, [&](File& file, Rank rank) {
                            const auto mine = static_cast<std::size_t>(rank);
                            EXPECT_TRUE(!view || file.set_view(strided_view(rank), {}).ok());
                            const auto form = call(kWriting, out[mine], kBytes, collective, 0, at);
                            expect_done(first(file, form), kBytes);
                        });
                        EXPECT_TRUE(fresh.any());
                    }
}

TEST_P(OnDevice, RecordsOfADeviceArentGathered) {
    constexpr Bytes kBytes = 100;
    std::byte* const out = filled(kBytes, 6);
    const OpenCall open = opening({{"oratorio_shared_write_behind", "65536"}});
    with_file_on_node(2, open, [&](File& file, Rank) {
        for (int i = 0; i < 3; ++i) {
            expect_done(file.access(call(kWriting, out, kBytes, false, 0, kShared)), kBytes);
            std::vector<std::byte> mine(static_cast<std::size_t>(kBytes));
            for (Bytes k = 0; k < kBytes; ++k) mine[static_cast<std::size_t>(k)] = byte_at(k, 6);
            expect_done(file.access(call_for(kWriting, mine, false, kShared)), kBytes);
        }
    });
    const std::string content = folder_.read("data");
    ASSERT_EQ(std::ssize(content), 12 * kBytes);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_TRUE(holds(content, i * kBytes, kBytes, 6)) << i;
}

/// Sets a view whose tile k has two blocks, the first at 2 * block * k and the second `apart` bytes
/// after the first.
void set_interleaved_view(File& file, Bytes block, Offset apart) {
    const auto blocks = Shape::blocks(Shape::run(block), List<Offset>{0, apart});
    const auto view = View::make(0, 1, blocks, 2 * block, true, "native");
    ASSERT_TRUE(file.set_view(view, {}).ok());
}

TEST_P(OnDevice, AReadOfInterleavedTilesGetsTheDataBeforeTheEndOfTheFile) {
    const Bytes before_end = 50;
    std::byte* const older = filled(kPiece, 100);
    std::byte* const content = filled(before_end, 1);
    std::byte* const in = empty(64);
    const std::byte untouched{0xee};
    std::fill_n(device_.data(in), 64, untouched);
    with_file(1, opening(), [&](File& file, Rank) {
        expect_done(file.access(call(kWriting, older, kPiece, false)), kPiece);
        ASSERT_TRUE(file.set_size(0).ok());
        expect_done(file.access(call(kWriting, content, before_end, false)), before_end);
        set_interleaved_view(file, 4, 100);
        // Seven of the blocks at 8 k begin before the end of the file, which cuts the seventh to
        // two bytes.
        expect_done(file.access(call(kReading, in, 64, false)), 26);
    });
    for (Bytes i = 0; i < 64; ++i) {
        const bool there = i % 8 < 4 && i < before_end;
        EXPECT_EQ(device_.data(in)[i], there ? byte_at(i, 1) : untouched) << i;
    }
}

TEST_P(OnDevice, OnlyReadsOfInterleavedTilesAreStagedAsAWhole) {
    const Bytes bytes = kPiece + 8;
    std::byte* const out = filled(bytes, 5);
    std::byte* const in = empty(bytes);
    with_file(1, opening(), [&](File& file, Rank) {
        set_interleaved_view(file, kPiece / 4, 3 * kPiece / 4);
        const long before = device_.counts().copies;
        expect_done(file.access(call(kWriting, out, bytes, false)), bytes);
        EXPECT_EQ(device_.counts().copies - before, 2) << "two pieces";
        expect_done(file.access(call(kReading, in, bytes, false)), bytes);
        EXPECT_EQ(device_.counts().copies - before, 3) << "all at once";
    });
    EXPECT_TRUE(is_filled(in, bytes, 5));
}

TEST_P(OnDevice, AnAtomicAccessIsStagedAsAWhole) {
    const Bytes bytes = kPiece + 1;
    std::byte* const out = filled(bytes, 8);
    with_file(1, opening(), [&](File& file, Rank) {
        ASSERT_TRUE(file.set_atomicity(true).ok());
        expect_done(file.access(call(kWriting, out, bytes, false)), bytes);
    });
    EXPECT_EQ(device_.counts().copies, 1);
    EXPECT_TRUE(holds(folder_.read("data"), 0, bytes, 8));
}

TEST_P(OnDevice, NonblockingAndSplitAccessesAreCopiedBeforeTheyAreDone) {
    constexpr Bytes kBytes = kPiece + 100'000;
    std::vector<std::byte*> memory;
    for (int i = 0; i < 8; ++i) memory.push_back(i < 4 ? filled(kBytes, i) : empty(kBytes));
    with_file(2, opening(), [&](File& file, Rank rank) {
        const auto at = [&](int which) { return memory[static_cast<std::size_t>(which + rank)]; };
        const OperationPtr alone = file.start(call(kWriting, at(0), kBytes, false, rank * kBytes));
        ASSERT_TRUE(
            file.begin_split(call(kWriting, at(2), kBytes, true, (2 + rank) * kBytes)).ok());
        expect_done(file.finish(alone), kBytes);
        expect_done(file.end_split(kWriting, kAt, at(2)), kBytes);
        const OperationPtr all = file.start(call(kReading, at(4), kBytes, true, rank * kBytes));
        const OperationPtr later =
            file.start(call(kReading, at(6), kBytes, false, (2 + rank) * kBytes));
        expect_done(file.finish(later), kBytes);
        expect_done(file.finish(all), kBytes);
    });
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(is_filled(memory[static_cast<std::size_t>(4 + i)], kBytes, i));
}

TEST_P(OnDevice, AHelperMovesPiecesOnAndLetsOthersHaveTheFileBetweenThem) {
    const Bytes bytes = 3 * kPiece;
    std::byte* const out = filled(bytes, 5);
    with_file(1, opening(), [&](File& file, Rank) {
        const OperationPtr operation = file.start(call(kWriting, out, bytes, false));
        int turns = 0;
        while (!operation->done()) {
            EXPECT_TRUE(file.progress(Mover::helper).pending);
            // A piece is copied from the device while the piece before it is written.
            EXPECT_EQ(device_.counts().copies, std::min(++turns + 1, 3));
        }
        EXPECT_EQ(turns, 4);
        expect_done(file.finish(operation), bytes);
    });
    EXPECT_TRUE(holds(folder_.read("data"), 0, bytes, 5));
}

/// A conversion that swaps the bytes of each two-byte number, whatever the machine's byte order.
class Swapped final : public Conversion {
  public:
    explicit Swapped(Layout memory) : memory_(std::move(memory)) {}
    [[nodiscard]] Bytes file_bytes() const override { return memory_.size(); }
    [[nodiscard]] Extent memory_part(Extent part) const override {
        return {(part.begin + 1) / 2 * 2, part.end / 2 * 2};
    }
    Error to_file(const std::byte* user, std::span<std::byte> file) override {
        Cursor cursor(memory_);
        gather_bytes(cursor, user, file);
        swap(file);
        return {};
    }
    Error to_memory(std::span<const std::byte> file, Bytes from, std::byte* user) override {
        EXPECT_EQ(from % 2, 0);
        std::vector<std::byte> data(file.begin(), file.end());
        swap(data);
        Cursor cursor(memory_);
        cursor.seek_size(from);
        scatter_bytes(cursor, user, std::span(data).first(data.size() / 2 * 2));
        return {};
    }

  private:
    static void swap(std::span<std::byte> data) {
        for (std::size_t i = 0; i + 1 < data.size(); i += 2) std::swap(data[i], data[i + 1]);
    }
    Layout memory_;
};

TEST_P(OnDevice, SomePartsMayBeMemoryOfTheHost) {
    constexpr Bytes kBytes = 1000;
    std::vector<std::byte> before(kBytes, std::byte{1}), after(kBytes, std::byte{2});
    std::byte* const out = device_.allocate(kBytes, StandInKind::device, 3);
    std::memset(device_.data(out), 3, kBytes);
    const auto at = [](const std::byte* part) { return reinterpret_cast<Offset>(part); };
    const std::vector<std::byte*> orders[] = {{before.data(), out, after.data()},
                                              {before.data(), after.data(), out},
                                              {out, before.data(), after.data()}};
    for (const auto& parts : orders)
        for (const bool atomic : {false, true})
            with_file(1, opening(), [&](File& file, Rank) {
                const auto form = [&](Direction direction) {
                    AccessCall made = call(direction, nullptr, 0, false);
                    made.memory = Layout{Shape::blocks(Shape::run(kBytes),
                                                       {at(parts[0]), at(parts[1]), at(parts[2])}),
                                         0, 0, 1};
                    return made;
                };
                ASSERT_TRUE(file.set_atomicity(atomic).ok());
                expect_done(file.access(form(kWriting)), 3 * kBytes);
                const std::string content = folder_.read("data");
                for (std::size_t i = 0; i < 3; ++i) {
                    const char value = static_cast<char>(*device_.data(parts[i]));
                    EXPECT_EQ(content.substr(i * kBytes, kBytes), std::string(kBytes, value)) << i;
                    std::memset(device_.data(parts[i]), 0, kBytes);
                }
                expect_done(file.access(form(kReading)), 3 * kBytes);
                for (std::size_t i = 0; i < 3; ++i)
                    EXPECT_EQ(std::memcmp(device_.data(parts[i]), &content[i * kBytes], kBytes), 0);
            });
}

TEST_P(OnDevice, DataIsConvertedOnTheHost) {
    std::byte* const out = filled(4000, 1);
    std::byte* const in = empty(4000);
    with_file(1, opening(), [&](File& file, Rank) {
        const auto form = [&](Direction direction, std::byte* memory) {
            AccessCall made = strided(call(direction, memory, 4000, false), 10, 100, 40);
            made.conversion = std::make_shared<Swapped>(made.memory);
            return made;
        };
        expect_done(file.access(form(kWriting, out)), 1000);
        expect_done(file.access(form(kReading, in)), 1000);
    });
    const std::string content = folder_.read("data");
    ASSERT_EQ(content.size(), 1000U);
    EXPECT_EQ(std::byte(content[0]), byte_at(1, 1));
    EXPECT_EQ(std::byte(content[11]), byte_at(40, 1));
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(std::memcmp(device_.data(in) + 40 * i, device_.data(out) + 40 * i, 10), 0);
        EXPECT_EQ(device_.data(in)[40 * i + 10], std::byte{0});
    }
}

TEST_P(OnDevice, ExplainsStagingOnce) {
    std::byte* const out = filled(1000, 2);
    std::string told;
    OpenCall open = opening();
    open.explain = true;
    open.narrate = [&](const std::string& text) { told += text; };
    with_file(1, open, [&](File& file, Rank) {
        for (const bool collective : {false, true})
            expect_done(file.access(call(kWriting, out, 1000, collective)), 1000);
        ASSERT_TRUE(file.set_atomicity(true).ok());
        for (const bool collective : {false, true})
            expect_done(file.access(call(kWriting, out, 1000, collective)), 1000);
    });
    const auto count = [&](const std::string& text) {
        std::size_t found = 0;
        for (std::size_t at = 0; (at = told.find(text, at)) != std::string::npos; ++at) ++found;
        return found;
    };
    EXPECT_EQ(count("): its data moves in pieces through bounce buffers in host memory"), 1U);
    EXPECT_EQ(count("): each access moves as a whole through bounce buffers in host memory"), 1U);
}

}  // namespace
}  // namespace oratorio::test
