// SPDX-License-Identifier: BSD-3-Clause
// While a call of the program waits for an operation, the call itself advances that operation, and
// the helper thread sleeps: two threads that wait for the same event would only wake each other.
// While the program computes, the helper thread looks less and less often for ranks that are late.
// This plain MPI program observes the helper thread through its system calls. The argument "nodes"
// runs the second test, between nodes.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdarg>
#include <cstring>
#include <ctime>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

/// Number of futex waits by threads other than the program's, such as waits on a doorbell.
std::atomic<int> rests_beside{0};
std::atomic<int> naps_beside{0};  ///< number of naps of our library's threads
pthread_t of_program;

void one_waits_for_a_late_rank() {
    MPI_File file = open_scratch();
    const int value = rank_of_world();
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(sizeof value);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank_of_world() == 1) usleep(300'000);
    CHECK(MPI_File_iwrite_at_all(file, mine, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
    const int before = rests_beside;
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    // Earlier versions of the helper thread waited five times per millisecond. The helper thread
    // may begin one wait before the program waits.
    CHECK(rests_beside - before < 50);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Counts the helper thread's naps while a rank is late. The naps grow to more than a millisecond,
/// and are short again after each message that arrives.
void the_thread_waits_for_a_late_rank() {
    MPI_File file = open_scratch();
    const int value = rank_of_world();
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(sizeof value);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    const int before = naps_beside;
    if (rank_of_world() == 1) usleep(500'000);
    CHECK(MPI_File_iwrite_at_all(file, mine, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
    if (rank_of_world() == 0) usleep(500'000);
    const double milliseconds = 1e3 * (MPI_Wtime() - start);
    CHECK(naps_beside - before < 50 + milliseconds);
    if (rank_of_world() == 0) CHECK(naps_beside > before);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

extern "C" __attribute__((visibility("default"))) int nanosleep(const timespec* time,
                                                                timespec* left) {
    using Real = int (*)(const timespec*, timespec*);
    static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "nanosleep"));
    using namespace oratorio::test;
    Dl_info caller{};
    const bool known = dladdr(__builtin_return_address(0), &caller) != 0;
    const bool ours = known && std::strstr(caller.dli_fname, "liboratorio") != nullptr;
    if (ours && pthread_equal(pthread_self(), of_program) == 0) ++naps_beside;
    return real(time, left);
}

extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
    using Real = long (*)(long, long, long, long, long, long, long);
    static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "syscall"));
    va_list list;
    va_start(list, number);
    long words[6];
    for (long& word : words) word = va_arg(list, long);
    va_end(list);
    using namespace oratorio::test;
    const bool waits = number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
    if (waits && pthread_equal(pthread_self(), of_program) == 0) ++rests_beside;
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int main(int argc, char** argv) {
    using namespace oratorio::test;
    of_program = pthread_self();
    int level = MPI_THREAD_SINGLE;
    if (argc > 1) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        if (level == MPI_THREAD_MULTIPLE) the_thread_waits_for_a_late_rank();
    } else {
        MPI_Init(&argc, &argv);
        one_waits_for_a_late_rank();
    }
    const int code = verdict("attended");
    MPI_Finalize();
    return code;
}
