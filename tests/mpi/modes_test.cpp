// SPDX-License-Identifier: BSD-3-Clause
// Opening, sizing and synchronising files, and the guarantees of atomic mode, with several ranks.
#include <algorithm>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

/// Collective. Opens and closes a file. Returns the error class of the open if all ranks have the
/// same, else -1.
int opening(const std::string& name, int mode) {
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file);
    if (code == MPI_SUCCESS) CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    return same_on_all_ranks(class_of(code));
}

/// Collective. Creates a file with these bytes, on rank 0.
void make_file(const std::string& name, const Bytes& bytes) {
    if (rank_of_world() == 0) put_into_file(name, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

void names_that_cannot_be_opened() {
    const ScratchFile scratch;
    const std::string& name = scratch.name();
    CHECK(opening(name, MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
    CHECK(opening(name, MPI_MODE_RDWR) == MPI_ERR_NO_SUCH_FILE);
    CHECK(opening(name + "/inside", MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_ERR_NO_SUCH_FILE);
    CHECK(opening("", MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_ERR_BAD_FILE);
    CHECK(opening("/tmp/" + std::string(300, 'x'), MPI_MODE_CREATE | MPI_MODE_RDWR) ==
          MPI_ERR_BAD_FILE);
    CHECK(opening("/", MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_ERR_BAD_FILE);
    CHECK(opening("/", MPI_MODE_RDONLY) == MPI_ERR_BAD_FILE);
    CHECK(opening(name, MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_SUCCESS);
    CHECK(opening(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR) == MPI_ERR_FILE_EXISTS);
    CHECK(opening(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN) == MPI_SUCCESS);
}

void modes_that_make_no_sense() {
    const ScratchFile scratch;
    make_file(scratch.name(), Bytes(10, 1));
    CHECK(opening(scratch.name(), 0) == MPI_ERR_AMODE);
    CHECK(opening(scratch.name(), MPI_MODE_RDONLY | MPI_MODE_WRONLY) == MPI_ERR_AMODE);
    CHECK(opening(scratch.name(), MPI_MODE_RDONLY | MPI_MODE_CREATE) == MPI_ERR_AMODE);
    CHECK(opening(scratch.name(), MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) == MPI_ERR_AMODE);
    if (size_of_world() == 1) return;
    const int mine = rank_of_world() == 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
    CHECK(opening(scratch.name(), mine) == MPI_ERR_NOT_SAME);
}

void exclusive_creation_works_once() {
    const ScratchFile scratch;
    const int mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY;
    CHECK(opening(scratch.name(), mode) == MPI_SUCCESS);
    CHECK(opening(scratch.name(), mode) == MPI_ERR_FILE_EXISTS);
}

void a_file_deleted_on_close_is_gone() {
    const std::string name = shared_name();
    MPI_File file = open_file(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, {});
    CHECK(size_of_file(name) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(size_of_file(name) == -1);
}

void appending_begins_at_the_end() {
    const ScratchFile scratch;
    make_file(scratch.name(), Bytes(1234, 7));
    MPI_File file = open_file(scratch.name(), MPI_MODE_RDWR | MPI_MODE_APPEND, {});
    MPI_Offset position = 0;
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 1234);
    MPI_Barrier(MPI_COMM_WORLD);
    // Each rank has its own file pointer, and all begin at the same position. The last rank writes
    // most, so the last bytes in the file are the last rank's.
    const Bytes bytes(10 * static_cast<std::size_t>(rank_of_world() + 1), 9);
    CHECK(MPI_File_write_all(file, bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                             MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    Bytes expected(1234, 7);
    expected.resize(1234 + 10 * static_cast<std::size_t>(size_of_world()), 9);
    CHECK(bytes_of_file(scratch.name(), 0, 100000) == expected);
}

void the_wrong_direction_is_refused() {
    const ScratchFile scratch;
    make_file(scratch.name(), Bytes(100, 7));
    char byte = 0;
    MPI_File file = open_file(scratch.name(), MPI_MODE_RDONLY, {});
    CHECK(class_of(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_write_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_set_size(file, 10)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_preallocate(file, 1000)) == MPI_ERR_READ_ONLY);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
          byte == 7);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    file = open_file(scratch.name(), MPI_MODE_WRONLY, {});
    CHECK(class_of(MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_ACCESS);
    CHECK(class_of(MPI_File_read_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_ACCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(size_of_file(scratch.name()) == 100);
}

constexpr uid_t kNobody = 65534;

/// Runs `action` as a user who is subject to permissions. If root can't become one (in a user
/// namespace without that user), prints that the action is left out.
template <class Action>
void as_nobody(Action action) {
    const bool root = ::geteuid() == 0;
    if (root && ::seteuid(kNobody) != 0) {
        std::printf("modes: permissions are not tested: root can't become user %u\n", kNobody);
        return;
    }
    action();
    if (root) CHECK(::seteuid(0) == 0);
}

/// Collective. Sets the permissions of a file. As root, the file is first changed to belong to
/// kNobody.
void permit(const std::string& name, mode_t permissions) {
    if (rank_of_world() == 0) {
        CHECK(::geteuid() != 0 || ::chown(name.c_str(), kNobody, kNobody) == 0);
        CHECK(::chmod(name.c_str(), permissions) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void permissions_are_told() {
    const ScratchFile scratch;
    make_file(scratch.name(), Bytes(100, 7));
    permit(scratch.name(), 0000);
    as_nobody([&] {
        CHECK(opening(scratch.name(), MPI_MODE_RDONLY) == MPI_ERR_ACCESS);
        CHECK(opening(scratch.name(), MPI_MODE_RDWR) == MPI_ERR_ACCESS);
        CHECK(opening(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_ERR_ACCESS);
        CHECK(opening("/oratorio-not-here", MPI_MODE_CREATE | MPI_MODE_RDWR) == MPI_ERR_ACCESS);
    });
    permit(scratch.name(), 0400);
    as_nobody([&] {
        CHECK(opening(scratch.name(), MPI_MODE_RDONLY) == MPI_SUCCESS);
        CHECK(opening(scratch.name(), MPI_MODE_WRONLY) == MPI_ERR_ACCESS);
    });
}

/// Writes pieces with gaps into a file that can't be read. No method may need the content of the
/// gaps.
void a_file_that_cannot_be_read_keeps_its_gaps(const std::string& method) {
    const ScratchFile scratch;
    const int ranks = size_of_world();
    make_file(scratch.name(), Bytes(static_cast<std::size_t>(64 * ranks * 50), 7));
    permit(scratch.name(), 0200);
    as_nobody([&] {
        MPI_File file = open_file(scratch.name(), MPI_MODE_WRONLY, {{"oratorio_method", method}});
        MPI_Datatype type;
        MPI_Type_vector(50, 8, 64 * ranks, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        MPI_File_set_view(file, 64 * rank_of_world(), MPI_BYTE, type, "native", MPI_INFO_NULL);
        MPI_Type_free(&type);
        const Bytes bytes(400, 9);
        CHECK_IN(method, MPI_File_write_all(file, bytes.data(), 400, MPI_BYTE, MPI_STATUS_IGNORE) ==
                             MPI_SUCCESS);
        CHECK_IN(method, MPI_File_write_at(file, 0, bytes.data(), 400, MPI_BYTE,
                                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK_IN(method, MPI_File_close(&file) == MPI_SUCCESS);
    });
    permit(scratch.name(), 0600);
    const Bytes bytes = bytes_of_file(scratch.name(), 0, 64 * ranks * 50);
    bool right = true;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        right = right && bytes[i] == (i % 64 < 8 ? 9 : 7);
    CHECK_IN(method, right);
}

void sizes_are_set() {
    const ScratchFile scratch;
    make_file(scratch.name(), Bytes(100, 7));
    MPI_File file = open_file(scratch.name(), MPI_MODE_RDWR, {});
    const auto size = [&] {
        MPI_Offset bytes = -1;
        CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        return bytes;
    };
    CHECK(size() == 100);
    CHECK(MPI_File_set_size(file, 60) == MPI_SUCCESS && size() == 60);
    CHECK(MPI_File_set_size(file, 90) == MPI_SUCCESS && size() == 90);
    CHECK(MPI_File_preallocate(file, 50) == MPI_SUCCESS && size() == 90);
    CHECK(MPI_File_preallocate(file, 100000) == MPI_SUCCESS && size() == 100000);
    Bytes expected(60, 7);
    expected.resize(100000);
    CHECK(bytes_of_file(scratch.name(), 0, 200000) == expected);
    CHECK(same_on_all_ranks(class_of(MPI_File_set_size(file, -1))) == MPI_ERR_ARG);
    if (size_of_world() > 1) {
        CHECK(same_on_all_ranks(class_of(MPI_File_set_size(file, rank_of_world()))) ==
              MPI_ERR_NOT_SAME);
        CHECK(same_on_all_ranks(class_of(MPI_File_preallocate(file, rank_of_world()))) ==
              MPI_ERR_NOT_SAME);
    }
    CHECK(size() == 100000);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Reads what another rank wrote, after the sequence of sync, barrier and sync (MPI-4.1, 14.6.1).
void what_is_synced_is_seen_by_others() {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {});
    const int rank = rank_of_world(), next = (rank + 1) % size_of_world();
    const Bytes mine(1000, static_cast<unsigned char>(rank + 1)),
        theirs(1000, static_cast<unsigned char>(next + 1));
    Bytes got(1000);
    CHECK(MPI_File_write_at(file, 1000 * rank, mine.data(), 1000, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 1000 * next, got.data(), 1000, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(got == theirs);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

bool uniform(const Bytes& bytes) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](auto byte) { return byte == bytes.front(); });
}

/// Lets all ranks write the same place at the same time in atomic mode, contiguous or in pieces,
/// and read it while others write.
void atomic_accesses_are_never_torn(const Hints& hints, bool pieces, const std::string& told) {
    constexpr int kBytes = 9600, kTurns = 4;
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    int atomic = 0;
    CHECK_IN(told, MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    CHECK_IN(told, MPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 1);
    if (pieces) {
        MPI_Datatype piece, type;
        MPI_Type_contiguous(24, MPI_BYTE, &piece);
        MPI_Type_create_resized(piece, 0, 80, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&piece);
        CHECK_IN(told, MPI_File_set_view(file, 5, MPI_BYTE, type, "native", MPI_INFO_NULL) ==
                           MPI_SUCCESS);
        MPI_Type_free(&type);
    }
    Bytes mine(kBytes), got(kBytes);
    const auto fill = [&](int turn) {
        std::fill(mine.begin(), mine.end(),
                  static_cast<unsigned char>(1 + turn * size_of_world() + rank_of_world()));
    };
    fill(0);
    CHECK_IN(told, MPI_File_write_at_all(file, 0, mine.data(), kBytes, MPI_BYTE,
                                         MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int turn = 1; turn <= kTurns; ++turn) {
        fill(turn);
        CHECK_IN(told, MPI_File_write_at(file, 0, mine.data(), kBytes, MPI_BYTE,
                                         MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK_IN(told, MPI_File_read_at(file, 0, got.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
                           MPI_SUCCESS);
        CHECK_IN(told, uniform(got));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 1; turn <= kTurns; ++turn) {
        fill(turn);
        CHECK_IN(told, MPI_File_write_at_all(file, 0, mine.data(), kBytes, MPI_BYTE,
                                             MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK_IN(told, MPI_File_read_at_all(file, 0, got.data(), kBytes, MPI_BYTE,
                                            MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK_IN(told, uniform(got));
    }
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
    if (!pieces) return;
    const Bytes bytes = bytes_of_file(scratch.name(), 5, 80 * 400);
    bool gaps_kept = true;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        gaps_kept = gaps_kept && (i % 80 < 24 || bytes[i] == 0);
    CHECK_IN(told, gaps_kept);
}

void the_atomic_flag_is_the_same_on_all_ranks() {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {});
    int atomic = 1;
    CHECK(MPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 0);
    if (size_of_world() > 1) {
        CHECK(same_on_all_ranks(class_of(MPI_File_set_atomicity(file, rank_of_world() == 0))) ==
              MPI_ERR_NOT_SAME);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    names_that_cannot_be_opened();
    modes_that_make_no_sense();
    exclusive_creation_works_once();
    a_file_deleted_on_close_is_gone();
    appending_begins_at_the_end();
    the_wrong_direction_is_refused();
    permissions_are_told();
    sizes_are_set();
    what_is_synced_is_seen_by_others();
    the_atomic_flag_is_the_same_on_all_ranks();
    for (const std::string& method : kMethods) {
        a_file_that_cannot_be_read_keeps_its_gaps(method);
        for (const std::string& store : kStores) {
            const Hints hints{{"oratorio_method", method},
                              {"oratorio_store", store},
                              {"ind_wr_buffer_size", "4096"}};
            atomic_accesses_are_never_torn(hints, false, method + " " + store);
            atomic_accesses_are_never_torn(hints, true, "pieces, " + method + " " + store);
        }
    }
    const int code = verdict("modes_test");
    MPI_Finalize();
    return code;
}
