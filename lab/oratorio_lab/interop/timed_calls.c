// SPDX-License-Identifier: BSD-3-Clause
/* Measures the time that each rank spends in MPI_File_* routines, with any MPI-IO: preload it in
 * front of Oratorio, or alone to measure the host's own MPI-IO. The time of a call includes the
 * calls of such routines that it makes itself. At its end, a process that has called such a routine
 * writes "SECONDS CALLS" into a new file of the folder TIMED_CALLS_FOLDER.
 *
 * ROUTINES is a list of TIMED(NAME), one for each routine. Fortran routines of Open MPI call PMPI
 * names, so these are measured as well. No routine has more than six arguments, all of them
 * integers or pointers, so the arguments of any routine can be passed on as six words. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef long (*routine)(long, long, long, long, long, long);

static _Thread_local int depth;
static double seconds;
static long calls;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// Looks for a routine in the MPI library, which Python may have loaded privately.
static int find_in_mpi(struct dl_phdr_info* info, size_t size, void* found) {
    (void)size;
    const char* const* name = found;
    if (strstr(info->dlpi_name, "/libmpi") == NULL) return 0;
    void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    void* address = library != NULL ? dlsym(library, *name) : NULL;
    if (address == NULL) return 0;
    *(void**)found = address;
    return 1;
}

static routine find_routine(const char* name) {
    void* address = dlsym(RTLD_NEXT, name);
    if (address != NULL) return (routine)address;
    const void* found = name;
    if (dl_iterate_phdr(find_in_mpi, &found) == 0) {
        fprintf(stderr, "timed_calls: there is no %s\n", name);
        abort();
    }
    return (routine)found;
}

static long timed(routine next, long a, long b, long c, long d, long e, long f) {
    const double start = now();
    ++depth;
    const long result = next(a, b, c, d, e, f);
    if (--depth > 0) return result;
    seconds += now() - start;
    ++calls;
    return result;
}

#define TIMED(name)                                             \
    long name(long a, long b, long c, long d, long e, long f) { \
        static routine next;                                    \
        if (next == NULL) next = find_routine(#name);           \
        return timed(next, a, b, c, d, e, f);                   \
    }
ROUTINES

__attribute__((destructor)) static void write_times(void) {
    const char* folder = getenv("TIMED_CALLS_FOLDER");
    if (calls == 0 || folder == NULL) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    FILE* file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%.6f %ld\n", seconds, calls);
    fclose(file);
}
