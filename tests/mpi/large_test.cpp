// SPDX-License-Identifier: BSD-3-Clause
// Offsets, extents and counts that don't fit 32 bits. The files are sparse. Large counts are either
// cut short by the end of a small file or accepted by storage that keeps nothing (io_faults), so
// that they need neither memory nor disk.
#include <sys/mman.h>

#include <algorithm>

#include "mpi/file_support.hpp"
#include "mpi/io_faults.hpp"

// Open MPI's header has no large-count forms, but the library under test has them.
#define WEAK __attribute__((weak))
extern "C" {
WEAK int MPI_File_read_at_c(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_read_at_all_c(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_write_at_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
                             MPI_Status*);
WEAK int MPI_File_write_at_all_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
                                 MPI_Status*);
}

namespace oratorio::test {
namespace {

constexpr MPI_Offset kGiB = MPI_Offset{1} << 30;
constexpr MPI_Offset kTiB = kGiB << 10;

MPI_File scratch_file(const Hints& hints) {
    return open_file(shared_name(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                     hints);
}

Bytes own_bytes(std::size_t count) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = pattern(i, static_cast<std::uint64_t>(rank_of_world() + 1));
    return bytes;
}

void offsets_near_a_tebibyte(const Hints& hints, const std::string& told) {
    MPI_File file = scratch_file(hints);
    const Bytes bytes = own_bytes(1000);
    Bytes got(1000);
    const MPI_Offset at = kTiB - 1500 + rank_of_world() * 1000;
    MPI_Status status;
    CHECK_IN(told,
             MPI_File_write_at_all(file, at, bytes.data(), 1000, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == 1000);
    MPI_Offset size = 0;
    CHECK_IN(told, MPI_File_get_size(file, &size) == MPI_SUCCESS);
    CHECK_IN(told, size == kTiB - 1500 + size_of_world() * 1000);
    CHECK_IN(told,
             MPI_File_read_at_all(file, at, got.data(), 1000, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == 1000 && got == bytes);
    CHECK_IN(told, MPI_File_seek(file, at, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK_IN(told, MPI_File_read(file, got.data(), 500, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Offset position = 0;
    CHECK_IN(told, MPI_File_get_position(file, &position) == MPI_SUCCESS && position == at + 500);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

/// Writes, from 5 GiB on, tiles of three pieces that are `apart` bytes apart. A tile extends over
/// 10/3 of `apart`.
void displacement_beyond_4_gib(MPI_Offset apart, const Hints& hints, const std::string& told) {
    const MPI_Offset tile = apart / 3 * 10;
    MPI_File file = scratch_file(hints);
    MPI_Datatype pieces, type;
    MPI_Type_create_hvector(3, 40, static_cast<MPI_Aint>(apart), MPI_DOUBLE, &pieces);
    MPI_Type_create_resized(pieces, 0, static_cast<MPI_Aint>(tile), &type);
    MPI_Type_commit(&type);
    const MPI_Offset begin = 5 * kGiB + 320 * rank_of_world();
    CHECK_IN(told, MPI_File_set_view(file, begin, MPI_DOUBLE, type, "native", MPI_INFO_NULL) ==
                       MPI_SUCCESS);
    MPI_Type_free(&type);
    MPI_Type_free(&pieces);
    const Bytes bytes = own_bytes(150 * 8);
    Bytes got(bytes.size());
    MPI_Status status;
    CHECK_IN(told, MPI_File_write_all(file, bytes.data(), 150, MPI_DOUBLE, &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == 1200);
    MPI_Offset offset = 0;
    CHECK_IN(told, MPI_File_get_byte_offset(file, 125, &offset) == MPI_SUCCESS &&
                       offset == begin + tile + 40);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_IN(told, MPI_File_get_size(file, &offset) == MPI_SUCCESS);
    CHECK_IN(told, offset == 5 * kGiB + tile + 320 * (size_of_world() - 1) + 240);
    CHECK_IN(told,
             MPI_File_read_at_all(file, 0, got.data(), 150, MPI_DOUBLE, &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == 1200 && got == bytes);
    std::fill(got.begin(), got.end(), std::uint8_t{0});
    CHECK_IN(told, MPI_File_read_at(file, 100, got.data(), 50, MPI_DOUBLE, &status) == MPI_SUCCESS);
    CHECK_IN(told, std::equal(got.begin(), got.begin() + 400, bytes.begin() + 800));
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

void sizes() {
    MPI_File file = scratch_file({});
    MPI_Offset size = 0;
    CHECK(MPI_File_set_size(file, 3 * kTiB + 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 3 * kTiB + 1);
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &size) == MPI_SUCCESS && size == 3 * kTiB);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void offsets_past_the_largest_are_refused() {
    MPI_File file = scratch_file({});
    char byte = 1;
    const bool last = rank_of_world() == size_of_world() - 1;
    const MPI_Offset end = INT64_MAX;
    MPI_Status status;
    double real = 1;
    CHECK(MPI_File_write_at(file, end - 3, &real, 1, MPI_DOUBLE, &status) != MPI_SUCCESS);
    // An invalid argument of one rank is an error on all ranks.
    CHECK(same_on_all_ranks(class_of(MPI_File_write_at_all(file, last ? end - 3 : 0, &real, 1,
                                                           MPI_DOUBLE, &status))) == MPI_ERR_ARG);
    CHECK(MPI_File_write_at_all(file, rank_of_world(), &byte, 1, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// A range of 2.5 GiB of addresses. Only pages that are written take memory.
class Addresses {
  public:
    static constexpr MPI_Count size = 5 * kGiB / 2;
    ~Addresses() { ::munmap(address_, size); }
    unsigned char* get() const { return static_cast<unsigned char*>(address_); }

  private:
    void* address_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
};

struct Call {
    const char* name;
    int (*read)(MPI_File, void*, MPI_Status*);
    int (*write)(MPI_File, MPI_Offset, const void*, MPI_Status*);
};

/// Returns a type of 512 MiB, so that 5 of them are 2.5 GiB without large-count forms.
MPI_Datatype half_gib() {
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type == MPI_DATATYPE_NULL) {
        MPI_Type_contiguous(static_cast<int>(kGiB / 2), MPI_BYTE, &type);
        MPI_Type_commit(&type);
    }
    return type;
}

const Call kCalls[] = {{"at_c",
                        [](MPI_File f, void* to, MPI_Status* s) {
                            return MPI_File_read_at_c(f, 0, to, Addresses::size, MPI_BYTE, s);
                        },
                        [](MPI_File f, MPI_Offset at, const void* from, MPI_Status* s) {
                            return MPI_File_write_at_c(f, at, from, Addresses::size, MPI_BYTE, s);
                        }},
                       {"at_all_c",
                        [](MPI_File f, void* to, MPI_Status* s) {
                            return MPI_File_read_at_all_c(f, 0, to, Addresses::size, MPI_BYTE, s);
                        },
                        [](MPI_File f, MPI_Offset at, const void* from, MPI_Status* s) {
                            return MPI_File_write_at_all_c(f, at, from, Addresses::size, MPI_BYTE,
                                                           s);
                        }},
                       {"at_all of a large type",
                        [](MPI_File f, void* to, MPI_Status* s) {
                            return MPI_File_read_at_all(f, 0, to, 5, half_gib(), s);
                        },
                        [](MPI_File f, MPI_Offset at, const void* from, MPI_Status* s) {
                            return MPI_File_write_at_all(f, at, from, 5, half_gib(), s);
                        }}};

void counts_beyond_2_gib() {
    constexpr int kFile = 100000;
    const Addresses memory;
    const Bytes bytes = own_bytes(kFile);
    for (const Call& call : kCalls) {
        const std::string told = call.name;
        MPI_File file = scratch_file({{"oratorio_method", "list_io"}, {"oratorio_store", "posix"}});
        MPI_Status status;
        if (rank_of_world() == 0) {
            CHECK_IN(told, MPI_File_write_at(file, 0, bytes.data(), kFile, MPI_BYTE, &status) ==
                               MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_IN(told, call.read(file, memory.get(), &status) == MPI_SUCCESS);
        CHECK_IN(told, moved_bytes(status) == kFile);
        if (rank_of_world() == 0)
            CHECK_IN(told, std::equal(bytes.begin(), bytes.end(), memory.get()));
        MPI_Barrier(MPI_COMM_WORLD);
        set_io_fault({IoFault::Kind::vanishes, false, true, 0, INT64_MAX});
        CHECK_IN(told, call.write(file, Addresses::size * rank_of_world(), memory.get(), &status) ==
                           MPI_SUCCESS);
        CHECK_IN(told,
                 moved_bytes(status) == Addresses::size && bytes_vanished() == Addresses::size);
        set_io_fault({});
        CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
    }
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    for (const std::string& method : kMethods) {
        const Hints hints{{"oratorio_method", method}};
        offsets_near_a_tebibyte(hints, method);
        // The methods not named here may also read the gaps between the pieces.
        const bool pieces_only = method == "auto" || method == "list_io" || method == "naive" ||
                                 method == "grouping" || method == "prefetch";
        displacement_beyond_4_gib(pieces_only ? 3 * kGiB : 3 << 20, hints, method);
    }
    sizes();
    offsets_past_the_largest_are_refused();
    counts_beyond_2_gib();
    const int code = verdict("large_test");
    MPI_Finalize();
    return code;
}
