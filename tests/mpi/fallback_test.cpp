// SPDX-License-Identifier: BSD-3-Clause
// Failures of a node's facilities: shared memory on any rank, and access to another rank's memory.
// Oratorio falls back to another method, does the access correctly, and reports the change.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

/// The system calls that fail in this process.
struct Refused {
    bool create = false;
    bool attach = false;
    bool cross_memory = false;
};
Refused refused;

template <class Call>
Call real(const char* name) {
    return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

/// A new communicator with the ranks in reverse order. Files on it find no cached memory, unlike
/// files on a duplicate of MPI_COMM_WORLD.
class Fresh {
  public:
    Fresh() { MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world(), &comm_); }
    ~Fresh() { MPI_Comm_free(&comm_); }
    Fresh(const Fresh&) = delete;
    Fresh& operator=(const Fresh&) = delete;
    operator MPI_Comm() const { return comm_; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Returns what the library has written to the file that ORATORIO_EXPLAIN names.
std::string told() {
    const Bytes bytes = bytes_of_file(std::getenv("ORATORIO_EXPLAIN"), 0, 1 << 20);
    return {bytes.begin(), bytes.end()};
}

/// Writes and reads blocks of 100 bytes that belong to the ranks in turn.
void write_and_read(MPI_File file, const std::string& name, const std::string& context) {
    constexpr int kBlock = 100;
    constexpr int kBlocks = 500;
    const int ranks = size_of_world();
    MPI_Datatype type;
    MPI_Type_vector(kBlocks, kBlock, kBlock * ranks, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, rank_of_world() * kBlock, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    Bytes bytes(kBlock * kBlocks), got(bytes.size());
    for (int i = 0; i < kBlock * kBlocks; ++i) {
        const int at = (i / kBlock * ranks + rank_of_world()) * kBlock + i % kBlock;
        bytes[static_cast<std::size_t>(i)] = pattern(static_cast<std::uint64_t>(at));
    }
    for (int again = 0; again < 2; ++again) {
        CHECK_IN(context, MPI_File_write_at_all(file, 0, bytes.data(), kBlock * kBlocks, MPI_BYTE,
                                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK_IN(context, MPI_File_read_at_all(file, 0, got.data(), kBlock * kBlocks, MPI_BYTE,
                                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK_IN(context, got == bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const long long whole = static_cast<long long>(kBlock) * kBlocks * ranks;
    const Bytes contents = bytes_of_file(name, 0, whole + 1);
    CHECK_IN(context, static_cast<long long>(contents.size()) == whole);
    for (std::size_t at = 0; at < contents.size(); ++at)
        if (contents[at] != pattern(at)) return CHECK_IN(context, !"a byte is wrong");
}

void refusal_is_told(const char* method, const Refused& what, int of_rank, const char* sentence) {
    const ScratchFile scratch;
    const Fresh comm;
    const std::string context =
        std::string(method) + ", refused on rank " + std::to_string(of_rank) + ", " + sentence;
    if (rank_of_world() == 0) ::unlink(std::getenv("ORATORIO_EXPLAIN"));
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                              {{"oratorio_method", method}}, comm);
    if (of_rank == rank_of_world()) refused = what;
    write_and_read(file, scratch.name(), context);
    refused = {};
    CHECK_IN(context, MPI_File_close(&file) == MPI_SUCCESS);
    if (rank_of_world() == 0) CHECK_IN(context, told().find(sentence) != std::string::npos);
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Refuses shared memory before the file is opened, so that the node's collectives use messages.
void no_shared_memory_at_all() {
    const ScratchFile scratch;
    const Fresh comm;
    // Cross-memory attach isn't refused here, because the host's messages may need it.
    refused = {.create = true, .attach = true};
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {}, comm);
    write_and_read(file, scratch.name(), "no shared memory at all");
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    refused = {};
}

}  // namespace
}  // namespace oratorio::test

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int shm_open(const char* name, int flags, mode_t mode) {
    using Call = int (*)(const char*, int, mode_t);
    static const auto call = oratorio::test::real<Call>("shm_open");
    const bool ours = std::strncmp(name, "/oratorio-", 10) == 0;
    const bool create = (flags & O_CREAT) != 0;
    if (ours && (create ? oratorio::test::refused.create : oratorio::test::refused.attach)) {
        errno = create ? ENOSPC : EACCES;
        return -1;
    }
    return call(name, flags, mode);
}

EXPORTED ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count,
                                  const iovec* there, unsigned long there_count,
                                  unsigned long flags) {
    using Call =
        ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);
    static const auto call = oratorio::test::real<Call>("process_vm_readv");
    if (oratorio::test::refused.cross_memory) {
        errno = EPERM;
        return -1;
    }
    return call(process, here, here_count, there, there_count, flags);
}

int main(int argc, char** argv) {
    using namespace oratorio::test;
    // The variable is set before the library reads it, which is at its first use.
    char where[] = "/tmp/oratorio-fallback-XXXXXX";
    MPI_Init(&argc, &argv);
    if (rank_of_world() == 0) ::close(::mkstemp(where));
    MPI_Bcast(where, sizeof where, MPI_CHAR, 0, MPI_COMM_WORLD);
    ::setenv("ORATORIO_EXPLAIN", where, 1);
    const int last = size_of_world() - 1;
    for (const char* method : {"shared_buffer", "shared_buffer_list", "shared_data"}) {
        refusal_is_told(method, {.create = true}, last, "isn't used: no space left on device");
        refusal_is_told(method, {.attach = true}, 0, "the memory of another rank is not visible");
    }
    refusal_is_told("shared_data", {.cross_memory = true}, last, "cross-memory attach");
    no_shared_memory_at_all();
    if (rank_of_world() == 0) ::unlink(where);
    const int code = verdict("fallback_test");
    MPI_Finalize();
    return code;
}
