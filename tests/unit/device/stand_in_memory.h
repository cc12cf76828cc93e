/* SPDX-License-Identifier: BSD-3-Clause
 * Code that the stand-ins for drivers share: memory of simulated devices, which the host can't
 * touch, and copies that are made when a caller waits for them. */
#ifndef ORATORIO_STAND_IN_MEMORY_H
#define ORATORIO_STAND_IN_MEMORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

enum stand_in_kind { of_host, of_device, managed };

struct stand_in_range {
    char* begin;
    size_t bytes;
    char* bytes_of; /* where the data is: a device's memory itself cannot be touched */
    enum stand_in_kind kind;
    int home; /* number of the device; -1: the memory belongs to a pool */
};

struct stand_in_copy {
    char* to;
    const char* from;
    size_t to_pitch, from_pitch, width, height;
    void* stream;
};

/* Counts of the library's calls and, from `fails_at` on, settings that a test makes. `bytes` does
 * not include gaps between rows. */
struct stand_in_counts {
    long copies, row_copies, bytes, waits, streams, pins, retained;
    long fails_at; /* number (from 1) of the first copy that fails, as all later ones do; 0: none */
    int fails_late; /* a failing copy fails when it is waited for, not when it starts */
    int uninitialised;
    int version;
};
EXPORT struct stand_in_counts stand_in;

enum { ranges_most = 1024 };
static struct stand_in_range ranges[ranges_most];
static int range_count;
static struct stand_in_copy* waiting;
static size_t waiting_count;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void* map_for(size_t bytes, enum stand_in_kind kind) {
    const int rights = kind == of_device ? PROT_NONE : PROT_READ | PROT_WRITE;
    return mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void add_range(char* begin, size_t bytes, enum stand_in_kind kind, int home) {
    pthread_mutex_lock(&turn);
    if (range_count == ranges_most) abort();
    struct stand_in_range* const range = &ranges[range_count];
    range->begin = begin;
    range->bytes = bytes;
    range->bytes_of = kind == of_device ? calloc(1, bytes) : begin;
    range->kind = kind;
    range->home = home;
    ++range_count;
    pthread_mutex_unlock(&turn);
}

/* Allocates memory. The host may access the memory unless it belongs to a device. */
EXPORT void* stand_in_allocate(size_t bytes, enum stand_in_kind kind, int home) {
    char* const begin = map_for(bytes, kind);
    add_range(begin, bytes, kind, home);
    return begin;
}

/* Allocates two blocks of memory of one device. The second block begins `gap` bytes after the end
 * of the first. `bytes` and `gap` must be whole pages. */
EXPORT void* stand_in_allocate_two(size_t bytes, size_t gap) {
    char* const begin = map_for(2 * bytes + gap, of_device);
    add_range(begin, bytes, of_device, 0);
    add_range(begin + bytes + gap, bytes, of_device, 0);
    if (gap > 0) munmap(begin + bytes, gap);
    return begin;
}

EXPORT void stand_in_free_all(void) {
    for (int i = 0; i < range_count; ++i) {
        if (ranges[i].kind == of_device) free(ranges[i].bytes_of);
        munmap(ranges[i].begin, ranges[i].bytes);
    }
    range_count = 0;
    free(waiting);
    waiting = NULL;
    waiting_count = 0;
}

static const struct stand_in_range* range_of(const void* address) {
    for (int i = 0; i < range_count; ++i)
        if ((const char*)address >= ranges[i].begin &&
            (const char*)address < ranges[i].begin + ranges[i].bytes)
            return &ranges[i];
    return NULL;
}

/* Returns host memory that holds the data of an address, which may be a device's. */
EXPORT char* stand_in_data(const void* address) {
    const struct stand_in_range* const range = range_of(address);
    return range == NULL ? (char*)address : range->bytes_of + ((char*)address - range->begin);
}

/* Returns false if a copy would reach beyond the end of an allocation. */
static int is_within(const void* address, size_t bytes) {
    const struct stand_in_range* const range = range_of(address);
    return range == NULL || (size_t)((char*)address - range->begin) + bytes <= range->bytes;
}

static size_t span_of(size_t pitch, size_t width, size_t height) {
    return (height - 1) * pitch + width;
}

/* Queues a copy. Returns 0 if the copy must fail at once. */
static int add_copy(struct stand_in_copy copy) {
    int taken = 0;
    pthread_mutex_lock(&turn);
    ++stand_in.copies;
    stand_in.row_copies += copy.height > 1;
    if (is_within(copy.to, span_of(copy.to_pitch, copy.width, copy.height)) &&
        is_within(copy.from, span_of(copy.from_pitch, copy.width, copy.height)) &&
        copy.to_pitch >= copy.width && copy.from_pitch >= copy.width &&
        (stand_in.fails_at == 0 || stand_in.copies < stand_in.fails_at || stand_in.fails_late)) {
        waiting = realloc(waiting, (waiting_count + 1) * sizeof *waiting);
        waiting[waiting_count++] = copy;
        taken = 1;
    }
    pthread_mutex_unlock(&turn);
    return taken;
}

/* Makes the queued copies of a stream. Returns 0 if one of them has failed. */
static int make_copies(void* stream) {
    pthread_mutex_lock(&turn);
    ++stand_in.waits;
    const int fails =
        stand_in.fails_at != 0 && stand_in.fails_late && stand_in.copies >= stand_in.fails_at;
    size_t left = 0;
    for (size_t i = 0; i < waiting_count; ++i) {
        const struct stand_in_copy copy = waiting[i];
        if (copy.stream != stream) {
            waiting[left++] = copy;
            continue;
        }
        for (size_t row = 0; !fails && row < copy.height; ++row)
            memcpy(stand_in_data(copy.to + row * copy.to_pitch),
                   stand_in_data(copy.from + row * copy.from_pitch), copy.width);
        if (!fails) stand_in.bytes += (long)(copy.width * copy.height);
    }
    waiting_count = left;
    pthread_mutex_unlock(&turn);
    return !fails;
}

#endif
