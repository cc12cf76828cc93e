// SPDX-License-Identifier: BSD-3-Clause
// A file system that really gets full (support/with_small_disk.sh), with every method, several
// stores and direct I/O: in a collective write every rank gets MPI_ERR_NO_SPACE, no rank hangs, the
// counts match the file's content, and data that fits afterwards is written.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

/// The block size does not divide the disk's size, and is a multiple of the page size.
constexpr int kBlock = 48 << 10;
constexpr long long kTooMuch = 6 << 20;
constexpr long long kFits = 512 << 10;

std::string in_folder(const char* name) {
    return std::string(std::getenv("ORATORIO_SMALL_DISK")) + "/" + name;
}

/// Returns the bytes that every file must hold, from its start. They are computed once, as each
/// case writes megabytes of them.
const Bytes& whole_pattern() {
    static const Bytes made = [] {
        Bytes bytes(kTooMuch + kBlock);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(i);
        return bytes;
    }();
    return made;
}

/// This rank's blocks. The blocks of the file belong to the ranks in turn.
struct Blocks {
    explicit Blocks(long long whole) : count(static_cast<int>(whole / kBlock / size_of_world())) {
        for (int block = 0; block < count; ++block) {
            const auto from = whole_pattern().begin() +
                              std::ptrdiff_t{block * size_of_world() + rank_of_world()} * kBlock;
            bytes.insert(bytes.end(), from, from + kBlock);
        }
    }
    int size() const { return static_cast<int>(bytes.size()); }
    int count;
    Bytes bytes;
};

MPI_File open_in_turn(const std::string& name, const Hints& hints) {
    MPI_File file = open_file(name, MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    MPI_Datatype block, type;
    MPI_Type_contiguous(kBlock, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, MPI_Aint{kBlock} * size_of_world(), &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, MPI_Offset{kBlock} * rank_of_world(), MPI_BYTE, type, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&type);
    MPI_Type_free(&block);
    return file;
}

/// Returns how many of these bytes, which a file has from its start, are right.
long long right_bytes(const Bytes& bytes) {
    constexpr std::size_t kAtOnce = 4096;
    const Bytes& wanted = whole_pattern();
    long long right = 0;
    for (std::size_t at = 0; at < bytes.size(); at += kAtOnce) {
        const std::size_t end = std::min(bytes.size(), at + kAtOnce);
        if (std::memcmp(bytes.data() + at, wanted.data() + at, end - at) == 0) {
            right += static_cast<long long>(end - at);
            continue;
        }
        for (std::size_t i = at; i < end; ++i) right += bytes[i] == wanted[i];
    }
    return right;
}

/// Collective. Checks that the counts in the statuses agree with the content of the file.
void counts_are_true(const std::string& name, const MPI_Status& status, const std::string& told) {
    const long long sum = sum_of_ranks(moved_bytes(status));
    if (rank_of_world() != 0) return;
    const Bytes bytes = bytes_of_file(name, 0, kTooMuch + kBlock);
    const long long stored = right_bytes(bytes);
    CHECK_IN(told + ", counts " + std::to_string(sum) + ", stored " + std::to_string(stored),
             sum == stored);
}

/// Writes through the same handle once there is room again.
void fits_after_making_room(MPI_File file, const std::string& name, const std::string& told) {
    const Blocks blocks(kFits);
    MPI_Status status;
    CHECK_IN(told, MPI_File_set_size(file, 0) == MPI_SUCCESS);
    CHECK_IN(told, MPI_File_write_at_all(file, 0, blocks.bytes.data(), blocks.size(), MPI_BYTE,
                                         &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == blocks.size());
    counts_are_true(name, status, told);
}

void collective_write_fills_it(const Hints& hints, const std::string& told) {
    const ScratchFile scratch(in_folder("one"));
    const Blocks blocks(kTooMuch);
    MPI_File file = open_in_turn(scratch.name(), hints);
    MPI_Status status;
    const int code =
        MPI_File_write_all(file, blocks.bytes.data(), blocks.size(), MPI_BYTE, &status);
    CHECK_IN(told, same_on_all_ranks(class_of(code)) == MPI_ERR_NO_SPACE);
    counts_are_true(scratch.name(), status, told);
    fits_after_making_room(file, scratch.name(), told);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

void nonblocking_write_fills_it(const Hints& hints, const std::string& told) {
    const ScratchFile scratch(in_folder("one"));
    const Blocks blocks(kTooMuch);
    MPI_File file = open_in_turn(scratch.name(), hints);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_IN(told, MPI_File_iwrite_all(file, blocks.bytes.data(), blocks.size(), MPI_BYTE,
                                       &request) == MPI_SUCCESS);
    CHECK_IN(told, MPI_Waitall(1, &request, &status) == MPI_ERR_IN_STATUS);
    CHECK_IN(told, same_on_all_ranks(class_of(status.MPI_ERROR)) == MPI_ERR_NO_SPACE);
    counts_are_true(scratch.name(), status, told);
    fits_after_making_room(file, scratch.name(), told);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

void independent_writes_fill_it(const Hints& hints, const std::string& told) {
    const ScratchFile scratch(in_folder("one"));
    const Blocks blocks(kTooMuch);
    MPI_File file = open_in_turn(scratch.name(), hints);
    MPI_Status status;
    const int code =
        class_of(MPI_File_write_at(file, 0, blocks.bytes.data(), blocks.size(), MPI_BYTE, &status));
    CHECK_IN(told, code == MPI_ERR_NO_SPACE ||
                       (code == MPI_SUCCESS && moved_bytes(status) == blocks.size()));
    CHECK_IN(told, sum_of_ranks(code == MPI_ERR_NO_SPACE) > 0);
    counts_are_true(scratch.name(), status, told);
    fits_after_making_room(file, scratch.name(), told);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

/// Fills the disk with one file, so that another one finds no room. Both continue once there is
/// room.
void two_files(const Hints& hints, const std::string& told) {
    const ScratchFile scratch(in_folder("one")), other(in_folder("two"));
    const Blocks blocks(kTooMuch), fitting(kFits);
    MPI_File file = open_in_turn(scratch.name(), hints), second = open_in_turn(other.name(), hints);
    MPI_Status status;
    int code = MPI_File_write_all(file, blocks.bytes.data(), blocks.size(), MPI_BYTE, &status);
    CHECK_IN(told, same_on_all_ranks(class_of(code)) == MPI_ERR_NO_SPACE);
    code = MPI_File_write_all(second, blocks.bytes.data(), blocks.size(), MPI_BYTE, &status);
    CHECK_IN(told, same_on_all_ranks(class_of(code)) == MPI_ERR_NO_SPACE);
    counts_are_true(other.name(), status, told);
    fits_after_making_room(file, scratch.name(), told);
    fits_after_making_room(second, other.name(), told);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
    CHECK_IN(told, MPI_File_close(&second) == MPI_SUCCESS);
}

void preallocation_that_does_not_fit() {
    const ScratchFile scratch(in_folder("one"));
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {});
    CHECK(same_on_all_ranks(class_of(MPI_File_preallocate(file, kTooMuch))) == MPI_ERR_NO_SPACE);
    CHECK(MPI_File_preallocate(file, kFits) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    for (const std::string& method : kMethods) {
        for (const std::string& store : kStores) {
            const Hints hints{{"oratorio_method", method},
                              {"oratorio_store", store},
                              {"cb_buffer_size", "1000000"}};
            const std::string told = method + " " + store;
            collective_write_fills_it(hints, "collective, " + told);
            independent_writes_fill_it(hints, "independent, " + told);
            nonblocking_write_fills_it(hints, "nonblocking, " + told);
            if (store == kStores.front()) two_files(hints, "two files, " + told);
        }
    }
    // With these hints an I/O thread makes the storage calls.
    for (const char* method : {"two_phase", "shared_buffer", "list_io"}) {
        const Hints hints{{"oratorio_method", method},
                          {"oratorio_store", "thread"},
                          {"oratorio_slots", "4"},
                          {"cb_buffer_size", "1000000"}};
        collective_write_fills_it(hints, std::string("collective, thread, ") + method);
    }
    // The store for direct I/O bypasses the page cache; files with these hints get it by default.
    for (const char* method : {"auto", "two_phase", "shared_buffer", "list_io"}) {
        const Hints hints{
            {"oratorio_method", method}, {"direct_write", "true"}, {"cb_buffer_size", "1000000"}};
        collective_write_fills_it(hints, std::string("collective, direct, ") + method);
        independent_writes_fill_it(hints, std::string("independent, direct, ") + method);
    }
    preallocation_that_does_not_fit();
    const int code = verdict("full_disk_test");
    MPI_Finalize();
    return code;
}
