// SPDX-License-Identifier: BSD-3-Clause
// One rank, or all, have few file descriptors left: opening and using a file succeeds or fails with
// the same error on all ranks, and no rank hangs.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kMode = MPI_MODE_CREATE | MPI_MODE_RDWR;
constexpr int kBytes = 4000;

int highest_descriptor() {
    int highest = 2;
    DIR* const all = ::opendir("/proc/self/fd");
    while (const dirent* const entry = ::readdir(all))
        highest = std::max(highest, std::atoi(entry->d_name));
    ::closedir(all);
    return highest;
}

/// Limits this process to `more` further descriptors.
class Few {
  public:
    explicit Few(int more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(highest_descriptor() + 1 + more);
        ::setrlimit(RLIMIT_NOFILE, &few);
        for (int copy = ::dup(0); copy >= 0; copy = ::dup(0)) taken_.push_back(copy);
        for (int i = 0; i < more; ++i) {
            ::close(taken_.back());
            taken_.pop_back();
        }
    }
    ~Few() {
        for (const int copy : taken_) ::close(copy);
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    Few(const Few&) = delete;
    Few& operator=(const Few&) = delete;

  private:
    rlimit before_{};
    std::vector<int> taken_;
};

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/// Returns true if all ranks have the same value.
bool is_common(int value) {
    int both[2] = {value, -value};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return both[0] == -both[1];
}

/// Uses the file with interleaved views of all ranks.
void use(MPI_File file, int rank, int ranks) {
    MPI_Datatype pieces;
    MPI_Type_vector(kBytes / 40, 40, 40 * ranks, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    CHECK(is_common(class_of(MPI_File_set_view(file, 40 * static_cast<MPI_Offset>(rank), MPI_BYTE,
                                               pieces, "native", MPI_INFO_NULL))));
    MPI_Type_free(&pieces);
    const Bytes mine(kBytes, static_cast<unsigned char>(1 + rank));
    Bytes back(kBytes);
    const int written =
        MPI_File_write_at_all(file, 0, mine.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    const int read =
        MPI_File_read_at_all(file, 0, back.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(is_common(class_of(written)) && is_common(class_of(read)));
    CHECK(written != MPI_SUCCESS || read != MPI_SUCCESS || back == mine);
    CHECK(is_common(
        class_of(MPI_File_write_ordered(file, mine.data(), 40, MPI_BYTE, MPI_STATUS_IGNORE))));
    // An independent call may fail on some ranks, but it ends.
    (void)MPI_File_write_shared(file, mine.data(), 40, MPI_BYTE, MPI_STATUS_IGNORE);
}

/// Opens and uses a file while rank `who`, or every rank if `who` is -1, may open only `more`
/// further descriptors.
void with_few(const std::string& name, MPI_Comm comm, int who, int more) {
    const int rank = rank_of_world();
    const Few few(who == -1 || who == rank ? more : 100);
    MPI_File file = MPI_FILE_NULL;
    const int opened = MPI_File_open(comm, name.c_str(), kMode, MPI_INFO_NULL, &file);
    CHECK(is_common(class_of(opened)));
    if (opened != MPI_SUCCESS) return;
    use(file, rank, size_of_world());
    CHECK(is_common(class_of(MPI_File_close(&file))));
}

/// Lets all ranks exchange data, because hosts may need descriptors when ranks first reach each
/// other.
void rendezvous() {
    const auto ranks = static_cast<std::size_t>(size_of_world());
    std::vector<int> out(ranks), in(ranks);
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
}

void run() {
    const ScratchFile scratch;
    rendezvous();
    for (const int who : {0, size_of_world() - 1, -1}) {
        for (int more = 0; more < 12; ++more) {
            // The new communicator has its ranks in another order, so that no workspace is cached
            // for it.
            MPI_Comm fresh;
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world(), &fresh);
            with_few(scratch.name(), fresh, who, more);
            MPI_Comm_free(&fresh);
            with_few(scratch.name(), MPI_COMM_WORLD, who, more);
        }
    }
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::test::run();
    const int result = oratorio::test::verdict("few_descriptors");
    MPI_Finalize();
    return result;
}
