// SPDX-License-Identifier: BSD-3-Clause
// A program that passes device memory, which the program cannot touch itself, to blocking,
// nonblocking, split and ordered routines that move data. It loads a stand-in for the device's
// driver while the file is already open. The argument is the path of the stand-in.
#include <array>
#include <cstring>
#include <vector>

#include "mpi/bind_support.hpp"
#include "support/stand_in_device.hpp"

namespace oratorio::test {
namespace {

constexpr int kRows = 100;
constexpr int kRow = 24;     // bytes of data in a row
constexpr int kStride = 80;  // distance of rows on the device
constexpr int kBytes = kRows * kRow;

std::byte byte_of(int rank, int at, int salt) {
    return static_cast<std::byte>(rank * 41 + at * 3 + salt);
}

/// Rows of this rank in device memory.
class Rows {
  public:
    Rows(const StandInDevice& device, int salt) : device_(device), salt_(salt) {
        memory_ = device.allocate(kRows * kStride);
        MPI_Type_vector(kRows, kRow, kStride, MPI_BYTE, &type_);
        MPI_Type_commit(&type_);
    }
    ~Rows() { MPI_Type_free(&type_); }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    [[nodiscard]] std::byte* memory() const { return memory_; }
    [[nodiscard]] MPI_Datatype type() const { return type_; }
    void fill() const {
        for (int i = 0; i < kBytes; ++i) at(i) = byte_of(rank_of_world(), i, salt_);
    }
    /// Checks that the data is in the rows, and that the memory between them is unchanged.
    void check() const {
        for (int i = 0; i < kBytes; ++i) CHECK(at(i) == byte_of(rank_of_world(), i, salt_));
        for (int row = 0; row < kRows; ++row)
            CHECK(device_.data(memory_)[row * kStride + kRow] == std::byte{0});
    }

  private:
    [[nodiscard]] std::byte& at(int i) const {
        return device_.data(memory_)[i / kRow * kStride + i % kRow];
    }

    const StandInDevice& device_;
    int salt_;
    std::byte* memory_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

using Move = void (*)(MPI_File, const Rows&, MPI_Offset);

void finish(MPI_Request request) {
    MPI_Status status;
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == kBytes);
}

struct Way {
    Move write;
    Move read;
};
#define DONE(call) CHECK((call) == MPI_SUCCESS)
#define NOBODY MPI_STATUS_IGNORE
#define ARGUMENTS MPI_File file, const Rows &rows, [[maybe_unused]] MPI_Offset at
const Way kWays[] = {
    {[](ARGUMENTS) { DONE(MPI_File_write_at(file, at, rows.memory(), 1, rows.type(), NOBODY)); },
     [](ARGUMENTS) { DONE(MPI_File_read_at(file, at, rows.memory(), 1, rows.type(), NOBODY)); }},
    {[](ARGUMENTS) {
         DONE(MPI_File_write_at_all(file, at, rows.memory(), 1, rows.type(), NOBODY));
     },
     [](ARGUMENTS) {
         DONE(MPI_File_read_at_all(file, at, rows.memory(), 1, rows.type(), NOBODY));
     }},
    {[](ARGUMENTS) {
         DONE(MPI_File_seek(file, at, MPI_SEEK_SET));
         DONE(MPI_File_write(file, rows.memory(), 1, rows.type(), NOBODY));
     },
     [](ARGUMENTS) {
         DONE(MPI_File_seek(file, at, MPI_SEEK_SET));
         DONE(MPI_File_read(file, rows.memory(), 1, rows.type(), NOBODY));
     }},
    {[](ARGUMENTS) {
         DONE(MPI_File_seek(file, at, MPI_SEEK_SET));
         DONE(MPI_File_write_all(file, rows.memory(), 1, rows.type(), NOBODY));
     },
     [](ARGUMENTS) {
         DONE(MPI_File_seek(file, at, MPI_SEEK_SET));
         DONE(MPI_File_read_all(file, rows.memory(), 1, rows.type(), NOBODY));
     }},
    {[](ARGUMENTS) {
         MPI_Request request = MPI_REQUEST_NULL;
         DONE(MPI_File_iwrite_at(file, at, rows.memory(), 1, rows.type(), &request));
         finish(request);
     },
     [](ARGUMENTS) {
         MPI_Request request = MPI_REQUEST_NULL;
         DONE(MPI_File_iread_at(file, at, rows.memory(), 1, rows.type(), &request));
         finish(request);
     }},
    {[](ARGUMENTS) {
         MPI_Request request = MPI_REQUEST_NULL;
         DONE(MPI_File_iwrite_at_all(file, at, rows.memory(), 1, rows.type(), &request));
         finish(request);
     },
     [](ARGUMENTS) {
         MPI_Request request = MPI_REQUEST_NULL;
         DONE(MPI_File_iread_at_all(file, at, rows.memory(), 1, rows.type(), &request));
         finish(request);
     }},
    {[](ARGUMENTS) {
         DONE(MPI_File_write_at_all_begin(file, at, rows.memory(), 1, rows.type()));
         DONE(MPI_File_write_at_all_end(file, rows.memory(), NOBODY));
     },
     [](ARGUMENTS) {
         DONE(MPI_File_read_at_all_begin(file, at, rows.memory(), 1, rows.type()));
         DONE(MPI_File_read_at_all_end(file, rows.memory(), NOBODY));
     }},
    {[](ARGUMENTS) {
         DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
         DONE(MPI_File_write_ordered(file, rows.memory(), 1, rows.type(), NOBODY));
     },
     [](ARGUMENTS) {
         DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
         DONE(MPI_File_read_ordered(file, rows.memory(), 1, rows.type(), NOBODY));
     }},
    {[](ARGUMENTS) {
         DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
         DONE(MPI_File_write_ordered_begin(file, rows.memory(), 1, rows.type()));
         DONE(MPI_File_write_ordered_end(file, rows.memory(), NOBODY));
     },
     [](ARGUMENTS) {
         DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
         DONE(MPI_File_read_ordered_begin(file, rows.memory(), 1, rows.type()));
         DONE(MPI_File_read_ordered_end(file, rows.memory(), NOBODY));
     }},
};
#undef ARGUMENTS

/// Makes a small contiguous access. The library passes its address to the system, which refuses it.
/// Only then does the library look for a driver.
void a_driver_is_found_when_it_is_loaded_later(MPI_File file, const StandInDevice& device) {
    std::byte* const memory = device.allocate(8);
    std::memset(device.data(memory), 0x5A, 8);
    DONE(MPI_File_seek(file, 8 * rank_of_world(), MPI_SEEK_SET));
    DONE(MPI_File_write(file, memory, 8, MPI_BYTE, NOBODY));
    std::array<std::byte, 8> mine{};
    MPI_Offset position = 0;
    DONE(MPI_File_get_position(file, &position));
    CHECK(position == 8 * rank_of_world() + 8);
    DONE(MPI_File_read_at(file, position - 8, mine.data(), 8, MPI_BYTE, NOBODY));
    for (const std::byte byte : mine) CHECK(byte == std::byte{0x5A});
    CHECK(device.counts().copies == 1);
}

void all_routines(MPI_File file, const StandInDevice& device) {
    int salt = 1;
    for (const Way& way : kWays) {
        const Rows out(device, salt);
        const Rows in(device, salt++);
        out.fill();
        const MPI_Offset at = kBytes * rank_of_world();
        way.write(file, out, at);
        DONE(MPI_File_sync(file));
        MPI_Barrier(MPI_COMM_WORLD);
        way.read(file, in, at);
        in.check();
        // The host memory gets the data that was written from the device.
        std::vector<std::byte> mine(kBytes);
        DONE(MPI_File_read_at(file, at, mine.data(), kBytes, MPI_BYTE, NOBODY));
        for (int i = 0; i < kBytes; ++i)
            CHECK(mine[static_cast<std::size_t>(i)] == byte_of(rank_of_world(), i, salt - 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(device.counts().streams == 0);
}

/// Writes and reads with one datatype that covers host memory and device memory.
void addresses(MPI_File file, const StandInDevice& device) {
    std::byte* const theirs = device.allocate(64);
    std::array<char, 64> mine{};
    mine.fill('h');
    std::memset(device.data(theirs), 'd', 64);
    std::array<int, 2> lengths = {8, 8};
    std::array<MPI_Aint, 2> places{};
    MPI_Get_address(mine.data(), &places[0]);
    MPI_Get_address(theirs, &places[1]);
    MPI_Datatype both = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(2, lengths.data(), places.data(), MPI_BYTE, &both);
    MPI_Type_commit(&both);
    const MPI_Offset at = 16 * rank_of_world();
    DONE(MPI_File_write_at_all(file, at, MPI_BOTTOM, 1, both, NOBODY));
    std::array<char, 16> got{};
    DONE(MPI_File_read_at(file, at, got.data(), 16, MPI_BYTE, NOBODY));
    CHECK(std::memcmp(got.data(), "hhhhhhhhdddddddd", 16) == 0);
    mine.fill('x');
    std::memset(device.data(theirs), 'x', 64);
    DONE(MPI_File_read_at(file, at, MPI_BOTTOM, 1, both, NOBODY));
    CHECK(mine[7] == 'h' && mine[8] == 'x');
    CHECK(device.data(theirs)[7] == std::byte{'d'} && device.data(theirs)[8] == std::byte{'x'});
    MPI_Type_free(&both);
}

/// Writes and reads external32, which has the other byte order, from and to device memory.
void converted(MPI_File file, const StandInDevice& device) {
    std::byte* const numbers = device.allocate(3 * sizeof(int));
    const std::array<int, 3> three = {1, 2, 0x01020304};
    std::memcpy(device.data(numbers), three.data(), sizeof three);
    DONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    const MPI_Offset at = 3 * rank_of_world();
    DONE(MPI_File_write_at_all(file, at, numbers, 3, MPI_INT, NOBODY));
    std::memset(device.data(numbers), 0, sizeof three);
    DONE(MPI_File_read_at(file, at, numbers, 3, MPI_INT, NOBODY));
    CHECK(std::memcmp(device.data(numbers), three.data(), sizeof three) == 0);
    DONE(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    std::array<char, 4> raw{};
    DONE(MPI_File_read_at(file, 4 * at + 8, raw.data(), 4, MPI_BYTE, NOBODY));
    CHECK(std::memcmp(raw.data(), "\1\2\3\4", 4) == 0);
}

/// Lets the driver of one rank refuse a call. A later access succeeds.
void refused(MPI_File file, const StandInDevice& device) {
    const Rows rows(device, 0);
    const MPI_Offset at = kBytes * rank_of_world();
    StandInCounts& counts = device.counts();
    const auto fail_on_last = [&](bool fails) {
        counts.copies = 0;
        counts.fails_at = fails && rank_of_world() == size_of_world() - 1 ? 1 : 0;
    };
    const bool last = rank_of_world() == size_of_world() - 1;
    fail_on_last(true);
    const int together = MPI_File_write_at_all(file, at, rows.memory(), 1, rows.type(), NOBODY);
    CHECK(class_of(together) == MPI_ERR_BUFFER);
    fail_on_last(true);
    const int alone = MPI_File_write_at(file, at, rows.memory(), 1, rows.type(), NOBODY);
    CHECK(class_of(alone) == (last ? MPI_ERR_BUFFER : MPI_SUCCESS));
    fail_on_last(true);
    MPI_Request request = MPI_REQUEST_NULL;
    DONE(MPI_File_iwrite_at(file, at, rows.memory(), 1, rows.type(), &request));
    CHECK(class_of(MPI_Wait(&request, NOBODY)) == (last ? MPI_ERR_BUFFER : MPI_SUCCESS));
    fail_on_last(false);
    DONE(MPI_File_write_at_all(file, at, rows.memory(), 1, rows.type(), NOBODY));
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    CHECK(argc == 2);
    MPI_File file = open_scratch();
    {
        const StandInDevice device(argv[1]);
        // The parts use overlapping places of the file, so all ranks finish one before the next.
        for (const auto part : {a_driver_is_found_when_it_is_loaded_later, all_routines, addresses,
                                converted, refused}) {
            part(file, device);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    }
    const int code = verdict("device");
    MPI_Finalize();
    return code;
}
