// SPDX-License-Identifier: BSD-3-Clause
// Storage that fails on one rank or on all, and a file that is missing on one rank. In a collective
// call every rank gets the same error class, some only in the next access if each rank reads for
// itself. No rank hangs, the counts are true, and the file works again afterwards. Short and
// interrupted system calls are not visible to the program.
#include "mpi/file_support.hpp"
#include "mpi/io_faults.hpp"

namespace oratorio::test {
namespace {

constexpr int kPieces = 300;
constexpr int kPiece = 96;
constexpr long long kBytes = kPieces * kPiece;  ///< data of a rank

long long whole() {
    return kBytes * size_of_world();
}

/// Opens a file with a view of pieces that belong to the ranks in turn.
MPI_File open_interleaved(const ScratchFile& scratch, const Hints& hints) {
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    MPI_Datatype type;
    MPI_Type_vector(kPieces, kPiece, kPiece * size_of_world(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, rank_of_world() * kPiece, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    return file;
}

long long place(long long i) {
    return (i / kPiece * size_of_world() + rank_of_world()) * kPiece + i % kPiece;
}

Bytes own_bytes() {
    Bytes bytes;
    for (long long i = 0; i < kBytes; ++i)
        bytes.push_back(pattern(static_cast<std::uint64_t>(place(i))));
    return bytes;
}

long long stored(const std::string& name) {
    const Bytes bytes = bytes_of_file(name, 0, whole());
    long long count = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) count += bytes[i] == pattern(i);
    return count;
}

struct Case {
    IoFault::Kind kind;
    bool everywhere;  ///< the fault is on all ranks, else only on the last one
    off_t first;
    off_t end;
};

IoFault fault_of(const Case& one, bool reads, bool writes) {
    const bool mine = one.everywhere || rank_of_world() == size_of_world() - 1;
    return mine ? IoFault{one.kind, reads, writes, one.first, one.end} : IoFault{};
}

void write_meets(const Case& one, const Hints& hints, const std::string& told) {
    const ScratchFile scratch;
    MPI_File file = open_interleaved(scratch, hints);
    const Bytes bytes = own_bytes();
    MPI_Status status;
    set_io_fault(fault_of(one, false, true));
    const int code = MPI_File_write_at_all(file, 0, bytes.data(), kBytes, MPI_BYTE, &status);
    const bool met = sum_of_ranks(io_faults_met()) > 0;
    CHECK_IN(told, met || !one.everywhere);
    set_io_fault({});
    const bool fails = met && one.kind == IoFault::Kind::fails;
    CHECK_IN(told, same_on_all_ranks(class_of(code)) == (fails ? MPI_ERR_IO : MPI_SUCCESS));
    if (!fails) CHECK_IN(told, moved_bytes(status) == kBytes);
    const long long told_bytes = sum_of_ranks(moved_bytes(status));
    if (rank_of_world() == 0) CHECK_IN(told, told_bytes == stored(scratch.name()));
    MPI_Barrier(MPI_COMM_WORLD);
    // The storage works again after the fault.
    CHECK_IN(told, MPI_File_write_at_all(file, 0, bytes.data(), kBytes, MPI_BYTE, &status) ==
                       MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == kBytes);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
    if (rank_of_world() == 0) CHECK_IN(told, stored(scratch.name()) == whole());
}

/// Makes a collective read that meets the fault. With `own_calls`, each rank makes its own storage
/// calls, so that other ranks need not hear of a failure.
void read_meets(const Case& one, const Hints& hints, bool own_calls, const std::string& told) {
    const ScratchFile scratch;
    MPI_File file = open_interleaved(scratch, hints);
    const Bytes bytes = own_bytes();
    Bytes got(bytes.size());
    MPI_Status status;
    CHECK_IN(told, MPI_File_write_at_all(file, 0, bytes.data(), kBytes, MPI_BYTE, &status) ==
                       MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    set_io_fault(fault_of(one, true, false));
    const int code = MPI_File_read_at_all(file, 0, got.data(), kBytes, MPI_BYTE, &status);
    const bool met = sum_of_ranks(io_faults_met()) > 0;
    CHECK_IN(told, met || !one.everywhere);
    set_io_fault({});
    const bool fails = met && one.kind == IoFault::Kind::fails;
    const int heard = static_cast<int>(sum_of_ranks(code != MPI_SUCCESS ? 1 : 0));
    CHECK_IN(told, (heard > 0) == fails && (code == MPI_SUCCESS || class_of(code) == MPI_ERR_IO));
    const bool all_hear = heard == 0 || heard == size_of_world();
    CHECK_IN(told, all_hear || own_calls);
    const long long moved = moved_bytes(status);
    CHECK_IN(told, code != MPI_SUCCESS ? moved >= 0 && moved <= kBytes : moved == kBytes);
    if (moved == kBytes) CHECK_IN(told, got == bytes);
    if (!all_hear) {  // the next access reports the failure on all ranks, and does nothing
        const int next = MPI_File_read_at_all(file, 0, got.data(), kBytes, MPI_BYTE, &status);
        CHECK_IN(told, same_on_all_ranks(class_of(next)) == MPI_ERR_IO);
        CHECK_IN(told, moved_bytes(status) == 0);
    }
    CHECK_IN(told,
             MPI_File_read_at_all(file, 0, got.data(), kBytes, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK_IN(told, moved_bytes(status) == kBytes && got == bytes);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

/// Makes independent accesses. They fail on ranks with the fault and on no other rank.
void independent_access_meets(const Case& one, const Hints& hints, const std::string& told) {
    const ScratchFile scratch;
    MPI_File file = open_interleaved(scratch, hints);
    const Bytes bytes = own_bytes();
    Bytes got(bytes.size());
    MPI_Status status;
    set_io_fault(fault_of(one, false, true));
    int code = MPI_File_write_at(file, 0, bytes.data(), kBytes, MPI_BYTE, &status);
    bool fails = io_faults_met() > 0 && one.kind == IoFault::Kind::fails;
    set_io_fault({});
    CHECK_IN(told, class_of(code) == (fails ? MPI_ERR_IO : MPI_SUCCESS));
    const long long told_bytes = sum_of_ranks(moved_bytes(status));
    if (rank_of_world() == 0) CHECK_IN(told, told_bytes == stored(scratch.name()));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_IN(told,
             MPI_File_write_at(file, 0, bytes.data(), kBytes, MPI_BYTE, &status) == MPI_SUCCESS);
    set_io_fault(fault_of(one, true, false));
    code = MPI_File_read_at(file, 0, got.data(), kBytes, MPI_BYTE, &status);
    fails = io_faults_met() > 0 && one.kind == IoFault::Kind::fails;
    set_io_fault({});
    CHECK_IN(told, class_of(code) == (fails ? MPI_ERR_IO : MPI_SUCCESS));
    if (!fails) CHECK_IN(told, moved_bytes(status) == kBytes && got == bytes);
    CHECK_IN(told, MPI_File_close(&file) == MPI_SUCCESS);
}

void storage_fails() {
    const auto end = static_cast<off_t>(whole());
    const Case cases[] = {
        {IoFault::Kind::fails, true, end / 3, end / 3 + 1},
        {IoFault::Kind::fails, true, 0, end},
        {IoFault::Kind::fails, false, end / 2, end},
        {IoFault::Kind::cut_short, true, 0, end},
        {IoFault::Kind::interrupted, false, 0, end},
    };
    int turn = 0;
    for (const std::string& method : kMethods) {
        // Copies to a mapping make no system call that could fail; auto uses a mapping for data
        // like this.
        if (method == "mmap" || method == "auto") continue;
        for (const Case& one : cases) {
            // The collective buffer is either smaller than the data of one rank or holds all data.
            // There are either two aggregators or as many as ranks.
            const Hints hints{{"oratorio_method", method},
                              {"oratorio_store", "posix"},
                              {"cb_buffer_size", turn % 2 == 0 ? "9000" : "16777216"},
                              {"cb_nodes", turn % 3 == 0 ? "2" : std::to_string(size_of_world())},
                              {"oratorio_cyclic_block", "3000"},
                              {"ind_wr_buffer_size", "5000"}};
            ++turn;
            const std::string told = "fault " + std::to_string(&one - cases) + " " + method;
            write_meets(one, hints, "write, " + told);
            const bool own_calls = method == "list_io" || method == "sieve" || method == "naive" ||
                                   method == "prefetch";
            read_meets(one, hints, own_calls, "read, " + told);
            if (own_calls) {
                independent_access_meets(one, hints, "independent, " + told);
            }
        }
    }
}

/// Opens a file that is missing on the last rank, as on a node where a file system isn't mounted.
void file_is_missing_on_the_last_rank() {
    const ScratchFile scratch;
    const bool last = rank_of_world() == size_of_world() - 1;
    if (rank_of_world() == 0) put_into_file(scratch.name(), 0, Bytes(100, 1));
    MPI_Barrier(MPI_COMM_WORLD);
    const std::string name = last ? "/nowhere/" + scratch.name() : scratch.name();
    const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_CREATE | MPI_MODE_WRONLY};
    for (const int mode : modes) {
        MPI_File file = MPI_FILE_NULL;
        const int code = MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file);
        CHECK(same_on_all_ranks(class_of(code)) == MPI_ERR_NO_SUCH_FILE);
        CHECK(file == MPI_FILE_NULL);
    }
    // The file that exists can still be opened.
    MPI_File file = open_file(scratch.name(), MPI_MODE_RDONLY, {});
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::test::storage_fails();
    oratorio::test::file_is_missing_on_the_last_rank();
    const int code = oratorio::test::verdict("faults_test");
    MPI_Finalize();
    return code;
}
