// SPDX-License-Identifier: BSD-3-Clause
/* Functions that glibc 2.28 lacks. libstdc++ and our objects use them, because they are compiled
 * against a newer glibc.
 *
 * This file is linked only into the portable libraries (cmake/portable.cmake), which hide its
 * functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))
enum { NANOSECONDS = 1000000000 };
/* The version of struct stat that stat, lstat and fstat below request. glibc returns an error for
 * any other version. */
#if defined(__x86_64__)
enum { STAT_VERSION = 1 };
#elif defined(__aarch64__)
enum { STAT_VERSION = 0 };
#endif

/* glibc defines atexit, which calls this function, in libc_nonshared.a on each machine and not in
 * its shared library. */
extern int __cxa_atexit(void (*function)(void*), void* argument, void* library);
extern void* __dso_handle;

HIDDEN int atexit(void (*function)(void)) {
    return __cxa_atexit((void (*)(void*))function, NULL, &__dso_handle);
}

/* Before glibc 2.33 stat, lstat and fstat were in libc_nonshared.a and called these functions. */
extern int __xstat(int version, const char* path, struct stat* facts);
extern int __lxstat(int version, const char* path, struct stat* facts);
extern int __fxstat(int version, int descriptor, struct stat* facts);

HIDDEN int stat(const char* path, struct stat* facts) {
    return __xstat(STAT_VERSION, path, facts);
}

HIDDEN int lstat(const char* path, struct stat* facts) {
    return __lxstat(STAT_VERSION, path, facts);
}

HIDDEN int fstat(int descriptor, struct stat* facts) {
    return __fxstat(STAT_VERSION, descriptor, facts);
}

HIDDEN int fstat64(int descriptor, struct stat64* facts) __attribute__((alias("fstat")));

/* Exists since glibc 2.32. It stays 0, which makes all reference counts atomic, because no code
 * would reset it when a thread starts. */
HIDDEN char __libc_single_threaded = 0;

/* Exists since glibc 2.36. Only std::random_device uses it. */
HIDDEN uint32_t arc4random(void) {
    uint32_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) abort();
    return number;
}

typedef int ClockWait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

/* Waits until a time of `clock`, as pthread_cond_clockwait of glibc 2.30 does, by
 * pthread_cond_timedwait, which accepts only the time of day. */
static int wait_by_time_of_day(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                               const struct timespec* until) {
    struct timespec now, today;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &today);
    today.tv_sec += until->tv_sec - now.tv_sec;
    today.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (today.tv_nsec < 0) {
        today.tv_nsec += NANOSECONDS;
        today.tv_sec -= 1;
    } else if (today.tv_nsec >= NANOSECONDS) {
        today.tv_nsec -= NANOSECONDS;
        today.tv_sec += 1;
    }
    return pthread_cond_timedwait(condition, mutex, &today);
}

HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* until) {
    static _Atomic(ClockWait*) known;
    ClockWait* wait = atomic_load(&known);
    if (wait == NULL) {
        wait = (ClockWait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
        if (wait == NULL) wait = wait_by_time_of_day;
        atomic_store(&known, wait);
    }
    return wait(condition, mutex, clock, until);
}
