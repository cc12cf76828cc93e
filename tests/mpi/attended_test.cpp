// SPDX-License-Identifier: BSD-3-Clause
// While a call of the program waits for an operation under way it moves that on itself, and the
// thread beside sleeps: two that wait for the same only wake each other. A plain MPI program; what
// the thread does is seen in its system calls.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdarg>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

std::atomic<int> rests_beside{0};  ///< of threads other than the program's, with a bell
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
    // It rested five times in a millisecond; once it may begin before the program waits.
    CHECK(rests_beside - before < 50);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

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
    MPI_Init(&argc, &argv);
    one_waits_for_a_late_rank();
    const int code = verdict("attended");
    MPI_Finalize();
    return code;
}
