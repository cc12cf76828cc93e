// SPDX-License-Identifier: BSD-3-Clause
/* MPI-4.1, 14.5.2: every data access procedure converts to external32 and back. */
#include <stdlib.h>

#include "conformance.h"

enum { kCount = 4, kFirst = 1000 };

static int decode(const unsigned char* bytes) {
    return bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* Collective. Makes a file of the ints 1000, 1001, ... in big-endian bytes. */
static void make_external32_file(Test* t, int count) {
    if (t->rank == 0) {
        unsigned char* const bytes = malloc((size_t)count * 4);
        MPI_File file = MPI_FILE_NULL;
        for (int i = 0; i < 4 * count; i++) {
            bytes[i] = (unsigned char)((kFirst + i / 4) >> (24 - i % 4 * 8) & 255);
        }
        OK(t, MPI_File_open(MPI_COMM_SELF, t->path, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                            MPI_INFO_NULL, &file));
        OK(t, MPI_File_write_at(file, 0, bytes, 4 * count, MPI_BYTE, MPI_STATUS_IGNORE));
        OK(t, MPI_File_close(&file));
        free(bytes);
    }
    MPI_Barrier(t->comm);
}

/* Checks on rank 0 that each place in the file holds the ints of one rank and no rank is missing;
 * if `is_in_order`, also that the places are in rank order. */
static void check_bytes(Test* t, int is_in_order) {
    const int total = kCount * t->size;
    if (t->rank != 0) {
        return;
    }
    unsigned char* const bytes = malloc((size_t)total * 4);
    int* const times = calloc((size_t)t->size, sizeof(int));
    EQUAL(t, stored_bytes(t, t->path, 0, bytes, 4 * total), 4 * total);
    for (int place = 0; place < t->size; place++) {
        const int owner = (decode(bytes + 4 * kCount * place) - kFirst) / kCount;
        CHECK(t, owner >= 0 && owner < t->size, "place %d holds the data of no rank", place);
        for (int i = 0; i < kCount && !t->is_wrong; i++) {
            EQUAL(t, decode(bytes + 4 * (kCount * place + i)), kFirst + kCount * owner + i);
        }
        if (!t->is_wrong) {
            CHECK(t, !is_in_order || owner == place, "rank %d's data is at place %d", owner, place);
            times[owner]++;
        }
    }
    for (int rank = 0; rank < t->size; rank++) {
        CHECK(t, times[rank] == 1, "the data of rank %d appears %d times in the file", rank,
              times[rank]);
    }
    free(bytes);
    free(times);
}

static void converts_data(Test* t) {
    const Operation* const operation = operation_of(t);
    const int is_in_order = operation->pointer != kShared || operation->is_collective;
    const int base = kCount * t->rank;
    int memory[kCount] = {0};
    MPI_Status status;
    if (operation->is_write) {
        for (int i = 0; i < kCount; i++) {
            memory[i] = kFirst + base + i;
        }
    } else {
        make_external32_file(t, kCount * t->size);
    }
    MPI_File file = open_mode(t, t->path, MPI_MODE_CREATE | MPI_MODE_RDWR);
    OK(t, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    if (operation->pointer == kIndividual) {
        OK(t, MPI_File_seek(file, base, MPI_SEEK_SET));
    }
    const Access access = {file, base, memory, kCount, MPI_INT};
    if (OK(t, operate(operation, &access, &status))) {
        check_count(t, &status, MPI_INT, kCount);
    }
    close_file(t, &file);
    if (operation->is_write) {
        check_bytes(t, is_in_order);
        return;
    }
    CHECK(t, !is_in_order || memory[0] == kFirst + base, "the first int read is %d instead of %d",
          memory[0], kFirst + base);
    CHECK(t, (memory[0] - kFirst) % kCount == 0, "the first int read is %d", memory[0]);
    for (int i = 1; i < kCount; i++) {
        EQUAL(t, memory[i], memory[0] + i);
    }
}

/* clang-format off */
#define ROW(NAME, ROUTINES) {"14.5.2", #NAME "-external32", "MPI_File_" #NAME " converts to or from external32", ROUTINES " set_view", converts_data, 1, kUsual, #NAME}
#define ONE(NAME) ROW(read##NAME, "read" #NAME), ROW(write##NAME, "write" #NAME)
#define STARTED(NAME) ROW(iread##NAME, "iread" #NAME), ROW(iwrite##NAME, "iwrite" #NAME)
#define SPLIT(NAME) ROW(read##NAME##_begin, "read" #NAME "_begin read" #NAME "_end"), ROW(write##NAME##_begin, "write" #NAME "_begin write" #NAME "_end")
RULES(kConversionRules, {
    ONE(_at), ONE(_at_all), ONE(_all), ONE(_shared), ONE(_ordered),
    ROW(read, "read"), ROW(write, "write"), ROW(iread, "iread"), ROW(iwrite, "iwrite"),
    STARTED(_at), STARTED(_at_all), STARTED(_all), STARTED(_shared),
    SPLIT(_at_all), SPLIT(_all), SPLIT(_ordered),
});
/* clang-format on */
