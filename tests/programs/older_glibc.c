// SPDX-License-Identifier: BSD-3-Clause
/* Compiles dev/release/compat.c as on a machine with a glibc that lacks pthread_cond_clockwait,
 * into a library that Python calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#define dlsym(library, name) ((void)(library), (void)(name), NULL)
#include <errno.h>

#include "../../dev/release/compat.c"

/* Waits for `nanoseconds`. Returns the result of the wait; -1 if it ended too early. */
int wait_for(long nanoseconds) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until, now;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += nanoseconds % NANOSECONDS;
    until.tv_sec += nanoseconds / NANOSECONDS + until.tv_nsec / NANOSECONDS;
    until.tv_nsec %= NANOSECONDS;
    if (until.tv_nsec < 0) {
        until.tv_nsec += NANOSECONDS;
        until.tv_sec -= 1;
    }
    int ended = 0;
    pthread_mutex_lock(&mutex);
    while (ended == 0) ended = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&mutex);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int early =
        now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec);
    return early ? -1 : ended;
}

long size_by_path(const char* path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? (long)facts.st_size : -1;
}

long size_by_descriptor(int descriptor) {
    struct stat facts;
    return fstat(descriptor, &facts) == 0 ? (long)facts.st_size : -1;
}

unsigned random_number(void) {
    return arc4random();
}
