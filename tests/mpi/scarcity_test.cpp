// SPDX-License-Identifier: BSD-3-Clause
// The process of one rank runs out of memory or threads, and no call leaves the other ranks
// waiting. Small allocations come from the library's reserve, so that the calls succeed. If the
// reserve is used up, too, the job ends.
//
// usage: scarcity_test memory|threads|end   (ORATORIO_SWEEP=full: every allocation, not a sample)
#include "mpi/scarcity.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "mpi/file_support.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test {
namespace {

constexpr int kPieces = 50;
constexpr int kPiece = 40;
constexpr int kMine = kPieces * kPiece;

struct Lack {
    int rank = 0;
    Scarcity scarcity;
};

Bytes data(int salt) {
    Bytes bytes(kMine);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = pattern(i * static_cast<std::size_t>(size_of_world()) +
                               static_cast<std::size_t>(rank_of_world()),
                           static_cast<std::uint64_t>(salt));
    return bytes;
}

/// Makes collective calls of all kinds on a file, and some independent ones, on a communicator for
/// which nothing is cached.
class Calls {
  public:
    Calls(std::string name, Hints hints, std::string context)
        : name_(std::move(name)), hints_(std::move(hints)), context_(std::move(context)) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world(), &comm_);
        MPI_Type_vector(kPieces, kPiece, kPiece * size_of_world(), MPI_BYTE, &type_);
        MPI_Type_commit(&type_);
    }
    ~Calls() {
        MPI_Type_free(&type_);
        MPI_Comm_free(&comm_);
    }
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

    void all() {
        const Info info(hints_);
        good(MPI_File_open(comm_, name_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file_));
        good(MPI_File_set_view(file_, rank_of_world() * kPiece, MPI_BYTE, type_, "native",
                               MPI_INFO_NULL));
        for (int salt = 0; salt < 3; ++salt) blocking(data(salt));
        under_way(data(4));
        good(MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        ordered(data(5), 100);
        ordered(data(6), kMine);
        good(MPI_File_set_info(file_, info));
        good(MPI_File_set_atomicity(file_, 1));
        good(MPI_File_set_atomicity(file_, 0));
        good(MPI_File_preallocate(file_, kMine));
        good(MPI_File_set_size(file_, kMine));
        good(MPI_File_sync(file_));
        good(MPI_File_close(&file_));
    }

  private:
    void good(int code) { CHECK_IN(context_, code == MPI_SUCCESS); }
    void same(const Bytes& expected) { CHECK_IN(context_, got_ == expected); }

    void blocking(const Bytes& put) {
        got_.assign(put.size(), 0);
        good(MPI_File_write_at_all(file_, 0, put.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE));
        good(MPI_File_read_at_all(file_, 0, got_.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE));
        same(put);
        got_.assign(put.size(), 0);
        good(MPI_File_write_at(file_, 0, put.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE));
        good(MPI_File_read_at(file_, 0, got_.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE));
        same(put);
    }

    void under_way(const Bytes& put) {
        got_.assign(put.size(), 0);
        MPI_Request requests[2];
        good(MPI_File_iwrite_at_all(file_, 0, put.data(), kMine, MPI_BYTE, &requests[0]));
        good(MPI_File_iread_at_all(file_, 0, got_.data(), kMine, MPI_BYTE, &requests[1]));
        good(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        same(put);
        got_.assign(put.size(), 0);
        good(MPI_File_write_all_begin(file_, put.data(), kMine, MPI_BYTE));
        good(MPI_File_write_all_end(file_, put.data(), MPI_STATUS_IGNORE));
        good(MPI_File_read_at_all_begin(file_, 0, got_.data(), kMine, MPI_BYTE));
        good(MPI_File_read_at_all_end(file_, got_.data(), MPI_STATUS_IGNORE));
        same(put);
    }

    void ordered(const Bytes& all, int bytes) {
        const Bytes put(all.begin(), all.begin() + bytes);
        got_.assign(put.size(), 0);
        good(MPI_File_seek_shared(file_, 0, MPI_SEEK_SET));
        good(MPI_File_write_ordered(file_, put.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        good(MPI_File_seek_shared(file_, 0, MPI_SEEK_SET));
        good(MPI_File_read_ordered(file_, got_.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        same(put);
    }

    std::string name_;
    Hints hints_;
    std::string context_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    MPI_File file_ = MPI_FILE_NULL;
    Bytes got_;
};

/// Collective. Returns how many allocations were made and how many requests were refused on the
/// rank that lacks memory or threads.
std::pair<long, long> run(const Hints& hints, const Lack& lack) {
    const ScratchFile scratch;
    std::string context;
    for (const auto& [key, value] : hints) context += value + " ";
    Calls calls(scratch.name(), hints,
                context + "without on rank " + std::to_string(lack.rank) + " from " +
                    std::to_string(lack.scarcity.first));
    if (rank_of_world() == lack.rank) set_scarcity(lack.scarcity);
    calls.all();
    long counts[2] = {allocations_made(), refusals()};
    set_scarcity({});
    MPI_Bcast(counts, 2, MPI_LONG, lack.rank, MPI_COMM_WORLD);
    return {counts[0], counts[1]};
}

/// Points the library to a file of learned times in the folder `state`.
void give_learned_times(const TemporaryFolder& state) {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    std::string machine = host;
    machine.erase(std::ranges::find_if(machine, [](unsigned char c) { return !std::isalpha(c); }),
                  machine.end());
    std::filesystem::create_directory(state.file("oratorio"));
    state.make("oratorio/learned-" + (machine.empty() ? "node" : machine) + ".txt",
               "oratorio-learned 2\n");
    ::setenv("XDG_STATE_HOME", state.path().c_str(), 1);
}

void without_memory() {
    // The first open of a process also reads costs and learned times from files.
    CHECK(run({}, {0, {.first = 0, .for_good = true}}).second > 0);
    const char* const sweep = std::getenv("ORATORIO_SWEEP");
    const bool full = sweep != nullptr && std::string(sweep) == "full";
    for (const std::string& method : kMethods) {
        const Hints hints{{"oratorio_method", method}};
        const int some = static_cast<int>(&method - kMethods.data()) % size_of_world();
        for (int rank = 0; rank < size_of_world(); ++rank) {
            if (!full && rank != some) continue;
            const long all = run(hints, {rank, {}}).first;
            CHECK_IN(method, all > 100);
            const long stride = full ? 1 : all / 2 + 1;
            for (long first = rank; first < all; first += stride) {
                CHECK_IN(method, run(hints, {rank, {.first = first}}).second > 0);
                CHECK_IN(method, run(hints, {rank, {.first = first, .for_good = true}}).second > 0);
            }
        }
    }
}

void without_threads() {
    for (const char* method : {"auto", "multithreaded", "two_phase"})
        for (const char* store : {"posix", "thread", "uring"})
            CHECK(run({{"oratorio_method", method}, {"oratorio_store", store}},
                      {1, {.threads = true}})
                      .second > 0);
}

/// Starts accesses until the library's reserve is used up, which ends the job.
void until_the_end() {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {});
    if (rank_of_world() == 0)
        set_scarcity({.first = 0, .for_good = true, .mappings = true, .threads = true});
    const char byte = 'x';
    for (int i = 0; i < 1'000'000; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_File_iwrite_at_all(file, 0, &byte, 1, MPI_BYTE, &request);
    }
    std::fprintf(stderr, "still running\n");
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    const std::string task = argv[argc - 1];
    std::optional<TemporaryFolder> state;
    if (task == "memory") give_learned_times(state.emplace());
    MPI_Init(&argc, &argv);
    if (task == "memory") without_memory();
    if (task == "threads") without_threads();
    if (task == "end") until_the_end();
    const int code = verdict("scarcity_test");
    MPI_Finalize();
    return code;
}
