// SPDX-License-Identifier: BSD-3-Clause
// Resources that files of the same ranks use one after the other are cached from file to file. No
// resource is created twice, nothing grows, and no state of one file gets into the next. This plain
// MPI program observes what the library creates through its calls to the C library and in /proc.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

std::atomic<int> segments_made = 0;  ///< shared memory segments that this process has created

constexpr int kMode = MPI_MODE_CREATE | MPI_MODE_RDWR;
constexpr int kBlock = 64;

MPI_File open_on(MPI_Comm comm, const std::string& name, const char* method) {
    return open_file(name, kMode, {{"oratorio_method", method}}, comm);
}

/// Writes blocks that belong to the file's ranks in turn, then reads them back.
void write_and_read(MPI_File file, MPI_Comm comm, int blocks, std::uint64_t salt,
                    const std::string& context) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Datatype type;
    MPI_Type_vector(blocks, kBlock, kBlock * ranks, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, kBlock * rank, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    Bytes bytes(static_cast<std::size_t>(kBlock * blocks)), got(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = pattern(i + (static_cast<std::uint64_t>(rank) << 32), salt);
    CHECK_IN(context, MPI_File_write_at_all(file, 0, bytes.data(), kBlock * blocks, MPI_BYTE,
                                            MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_IN(context, MPI_File_read_at_all(file, 0, got.data(), kBlock * blocks, MPI_BYTE,
                                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_IN(context, got == bytes);
}

void use_file(MPI_Comm comm, const std::string& name, const char* method, int blocks) {
    static std::uint64_t salt = 0;
    MPI_File file = open_on(comm, name, method);
    write_and_read(file, comm, blocks, ++salt, method);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

long long segments_so_far() {
    return sum_of_ranks(segments_made);
}

/// Returns a communicator with the ranks in another order, so that it can't use what is cached for
/// MPI_COMM_WORLD.
MPI_Comm turned_round() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world(), &comm);
    return comm;
}

void a_second_file_makes_no_shared_segment(MPI_Comm comm, const std::string& name) {
    use_file(comm, name, "shared_buffer", 100);
    const long long before = segments_so_far();
    for (int i = 0; i < 5; ++i) use_file(comm, name, "shared_buffer", 100);
    CHECK(segments_so_far() == before);
}

/// Uses files of several methods one after the other. Keys, doorbells and messages of one file mean
/// nothing to the next.
void files_of_all_methods_follow_each_other(MPI_Comm comm, const std::string& name) {
    for (int turn = 0; turn < 3; ++turn)
        for (const char* method : {"shared_buffer", "two_phase", "shared_data", "auto",
                                   "shared_buffer_list", "cb_cyclic", "mmap"})
            use_file(comm, name, method, 1 + 700 * turn);
}

void two_files_at_once_are_apart(const std::string& name) {
    const std::string other = name + ".2";
    for (int turn = 0; turn < 4; ++turn) {
        MPI_File one = open_on(MPI_COMM_WORLD, name, "shared_buffer");
        MPI_File two = open_on(MPI_COMM_WORLD, other, "shared_buffer");
        for (std::uint64_t i = 0; i < 4; ++i) {
            write_and_read(one, MPI_COMM_WORLD, 50, i, "the first of two files");
            write_and_read(two, MPI_COMM_WORLD, 80, 100 + i, "the second of two files");
        }
        // The order of the closes alternates, so that the two files swap their cached resources.
        CHECK(MPI_File_close(turn % 2 == 0 ? &one : &two) == MPI_SUCCESS);
        CHECK(MPI_File_close(turn % 2 == 0 ? &two : &one) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_world() == 0) ::unlink(other.c_str());
}

/// Resources that this process holds.
struct Held {
    long long descriptors = 0;
    long long mappings = 0;  ///< number of mappings of our shared memory segments
    long long kilobytes = 0;
};

Held held() {
    Held now;
    now.descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        now.mappings += line.find("/dev/shm/oratorio-") != std::string::npos;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmRSS:") status >> now.kilobytes;
    return now;
}

template <class Action>
void nothing_grows(const char* what, int times, Action action) {
    for (int i = 0; i < 5; ++i) action();
    const Held before = held();
    for (int i = 0; i < times; ++i) action();
    const Held after = held();
    CHECK_IN(what, after.descriptors == before.descriptors);
    CHECK_IN(what, after.mappings == before.mappings);
    CHECK_IN(std::string(what) + ": KiB " + std::to_string(before.kilobytes) + " -> " +
                 std::to_string(after.kilobytes),
             after.kilobytes <= before.kilobytes + 2048);
}

void open_and_close(MPI_Comm comm, const std::string& name) {
    MPI_File file = MPI_FILE_NULL;
    if (MPI_File_open(comm, name.c_str(), kMode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return CHECK(!"open works each time");
    if (MPI_File_close(&file) != MPI_SUCCESS) CHECK(!"close works each time");
}

void fail_to_open(MPI_Comm comm) {
    MPI_File file = MPI_FILE_NULL;
    CHECK(class_of(MPI_File_open(comm, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) ==
          MPI_ERR_NO_SUCH_FILE);
}

/// Opens one file on a new communicator, as some libraries do. With `open` the communicator is
/// freed while the file is open, else after the close.
void use_a_communicator_once(const std::string& name, bool world, bool open) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (world) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    } else {
        comm = turned_round();
    }
    MPI_File file = open_on(comm, name, "shared_buffer");
    write_and_read(file, comm, 10, 1, "a file on a communicator of its own");
    if (open) MPI_Comm_free(&comm);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    if (!open) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace oratorio::test

extern "C" __attribute__((visibility("default"))) int shm_open(const char* name, int flags,
                                                               mode_t mode) {
    using Call = int (*)(const char*, int, mode_t);
    static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "shm_open"));
    if (std::strncmp(name, "/oratorio-", 10) == 0 && (flags & O_CREAT) != 0)
        ++oratorio::test::segments_made;
    return call(name, flags, mode);
}

namespace oratorio::test {
namespace {

void run_all(const std::string& name) {
    const std::string mine = name + "." + std::to_string(rank_of_world());
    // On several nodes it costs more to create what is cached, so less is done there.
    const bool one_node = std::getenv("ORATORIO_RANKS_PER_NODE") == nullptr;
    MPI_Comm comm = turned_round();
    for (const MPI_Comm each : {MPI_COMM_WORLD, comm}) {
        a_second_file_makes_no_shared_segment(each, name);
        files_of_all_methods_follow_each_other(each, name);
    }
    MPI_Comm_free(&comm);
    two_files_at_once_are_apart(name);
    nothing_grows("MPI_COMM_SELF", 20000, [&] { open_and_close(MPI_COMM_SELF, mine); });
    nothing_grows("MPI_COMM_WORLD", one_node ? 2000 : 200,
                  [&] { open_and_close(MPI_COMM_WORLD, name); });
    nothing_grows("opens that fail", 200, [&] { fail_to_open(MPI_COMM_WORLD); });
    for (const bool world : {true, false})
        for (const bool open : {true, false})
            nothing_grows("communicators", one_node ? 100 : 10,
                          [&] { use_a_communicator_once(name, world, open); });
    ::unlink(mine.c_str());
    // This communicator is never freed, so that MPI_Finalize finds a cached workspace on it.
    use_file(turned_round(), name, "shared_buffer", 10);
}

/// Opens files in several threads at once. The order of the threads, and with it what each finds in
/// the cache, differs from rank to rank.
void threads_open_files_at_once(const std::string& name) {
    constexpr int kThreads = 3;
    std::vector<std::thread> threads;
    std::vector<MPI_Comm> comms(kThreads);
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
            const std::string own = name + "." + std::to_string(thread);
            const MPI_Comm comm = comms[static_cast<std::size_t>(thread)];
            for (std::uint64_t turn = 0; turn < 100; ++turn) {
                MPI_File file = open_on(comm, own, "shared_buffer");
                write_and_read(file, comm, 20, turn, "a file of one thread");
                CHECK(MPI_File_close(&file) == MPI_SUCCESS);
            }
            int rank = 0;
            MPI_Comm_rank(comm, &rank);
            if (rank == 0) ::unlink(own.c_str());
        });
    for (std::thread& thread : threads) thread.join();
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    const bool by_threads = argc > 1 && std::strcmp(argv[1], "threads") == 0;
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, by_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    {
        const ScratchFile scratch;
        if (!by_threads) run_all(scratch.name());
        if (level == MPI_THREAD_MULTIPLE) threads_open_files_at_once(scratch.name());
    }
    const int code = verdict("kept_test");
    MPI_Finalize();
    return code;
}
