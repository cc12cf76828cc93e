// SPDX-License-Identifier: BSD-3-Clause
/* The data access procedures as values. Each procedure has a function that takes its arguments from
 * an Access. */
#include <string.h>

#include "conformance.h"

#define AT a->file, a->offset
#define AT_TYPES MPI_File, MPI_Offset
#define HERE a->file
#define HERE_TYPES MPI_File

/* Declares `call`, a pointer to a large-count procedure, and looks the procedure up by name.
 * operation_of has checked that it exists. */
#define LARGE(NAME, ...)      \
    int (*call)(__VA_ARGS__); \
    *(void**)&call = procedure("MPI_File_" #NAME "_c")

#define BLOCKING(NAME, WHERE)                                                     \
    static int NAME(const Access* a, MPI_Status* status) {                        \
        return MPI_File_##NAME(WHERE, a->buffer, (int)a->count, a->type, status); \
    }                                                                             \
    static int NAME##_c(const Access* a, MPI_Status* status) {                    \
        LARGE(NAME, WHERE##_TYPES, void*, MPI_Count, MPI_Datatype, MPI_Status*);  \
        return call(WHERE, a->buffer, a->count, a->type, status);                 \
    }

#define NONBLOCKING(NAME, WHERE)                                                   \
    static int NAME(const Access* a, MPI_Request* request) {                       \
        return MPI_File_##NAME(WHERE, a->buffer, (int)a->count, a->type, request); \
    }                                                                              \
    static int NAME##_c(const Access* a, MPI_Request* request) {                   \
        LARGE(NAME, WHERE##_TYPES, void*, MPI_Count, MPI_Datatype, MPI_Request*);  \
        return call(WHERE, a->buffer, a->count, a->type, request);                 \
    }

#define SPLIT(NAME, WHERE)                                                        \
    static int NAME##_begin(const Access* a) {                                    \
        return MPI_File_##NAME##_begin(WHERE, a->buffer, (int)a->count, a->type); \
    }                                                                             \
    static int NAME##_begin_c(const Access* a) {                                  \
        LARGE(NAME##_begin, WHERE##_TYPES, void*, MPI_Count, MPI_Datatype);       \
        return call(WHERE, a->buffer, a->count, a->type);                         \
    }                                                                             \
    static int NAME##_end(const Access* a, MPI_Status* status) {                  \
        return MPI_File_##NAME##_end(a->file, a->buffer, status);                 \
    }

BLOCKING(read_at, AT)
BLOCKING(write_at, AT)
BLOCKING(read_at_all, AT)
BLOCKING(write_at_all, AT)
BLOCKING(read, HERE)
BLOCKING(write, HERE)
BLOCKING(read_all, HERE)
BLOCKING(write_all, HERE)
BLOCKING(read_shared, HERE)
BLOCKING(write_shared, HERE)
BLOCKING(read_ordered, HERE)
BLOCKING(write_ordered, HERE)
NONBLOCKING(iread_at, AT)
NONBLOCKING(iwrite_at, AT)
NONBLOCKING(iread_at_all, AT)
NONBLOCKING(iwrite_at_all, AT)
NONBLOCKING(iread, HERE)
NONBLOCKING(iwrite, HERE)
NONBLOCKING(iread_all, HERE)
NONBLOCKING(iwrite_all, HERE)
NONBLOCKING(iread_shared, HERE)
NONBLOCKING(iwrite_shared, HERE)
SPLIT(read_at_all, AT)
SPLIT(write_at_all, AT)
SPLIT(read_all, HERE)
SPLIT(write_all, HERE)
SPLIT(read_ordered, HERE)
SPLIT(write_ordered, HERE)

/* clang-format off */
#define B(NAME, WRITE, POINTER, COLLECTIVE) \
    {#NAME, NULL, WRITE, POINTER, COLLECTIVE, NAME, NULL, NULL, NULL}, \
    {#NAME "_c", "MPI_File_" #NAME "_c", WRITE, POINTER, COLLECTIVE, NAME##_c, NULL, NULL, NULL}
#define N(NAME, WRITE, POINTER, COLLECTIVE) \
    {#NAME, NULL, WRITE, POINTER, COLLECTIVE, NULL, NAME, NULL, NULL}, \
    {#NAME "_c", "MPI_File_" #NAME "_c", WRITE, POINTER, COLLECTIVE, NULL, NAME##_c, NULL, NULL}
#define S(NAME, WRITE, POINTER) \
    {#NAME "_begin", NULL, WRITE, POINTER, 1, NULL, NULL, NAME##_begin, NAME##_end}, \
    {#NAME "_begin_c", "MPI_File_" #NAME "_begin_c", WRITE, POINTER, 1, NULL, NULL, NAME##_begin_c, NAME##_end}

static const Operation kOperations[] = {
    B(read_at, 0, kExplicit, 0),       B(write_at, 1, kExplicit, 0),
    B(read_at_all, 0, kExplicit, 1),   B(write_at_all, 1, kExplicit, 1),
    N(iread_at, 0, kExplicit, 0),      N(iwrite_at, 1, kExplicit, 0),
    N(iread_at_all, 0, kExplicit, 1),  N(iwrite_at_all, 1, kExplicit, 1),
    B(read, 0, kIndividual, 0),        B(write, 1, kIndividual, 0),
    B(read_all, 0, kIndividual, 1),    B(write_all, 1, kIndividual, 1),
    N(iread, 0, kIndividual, 0),       N(iwrite, 1, kIndividual, 0),
    N(iread_all, 0, kIndividual, 1),   N(iwrite_all, 1, kIndividual, 1),
    B(read_shared, 0, kShared, 0),     B(write_shared, 1, kShared, 0),
    N(iread_shared, 0, kShared, 0),    N(iwrite_shared, 1, kShared, 0),
    B(read_ordered, 0, kShared, 1),    B(write_ordered, 1, kShared, 1),
    S(read_at_all, 0, kExplicit),      S(write_at_all, 1, kExplicit),
    S(read_all, 0, kIndividual),       S(write_all, 1, kIndividual),
    S(read_ordered, 0, kShared),       S(write_ordered, 1, kShared),
};
/* clang-format on */

const Operation* operation_of(Test* t) {
    for (size_t i = 0; i < sizeof kOperations / sizeof kOperations[0]; i++) {
        const Operation* const found = &kOperations[i];
        if (strcmp(found->name, t->rule->operation) != 0) {
            continue;
        }
        if (found->symbol && !procedure(found->symbol)) {
            unavailable(t, "this MPI lacks the procedure");
            return NULL;
        }
        return found;
    }
    CHECK(t, 0, "no such operation");
    return NULL;
}

int operate(const Operation* operation, const Access* access, MPI_Status* status) {
    if (operation->blocking) {
        return operation->blocking(access, status);
    }
    if (operation->begin) {
        const int code = operation->begin(access);
        const int end = code == MPI_SUCCESS ? operation->end(access, status) : MPI_SUCCESS;
        return code != MPI_SUCCESS ? code : end;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = operation->start(access, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, status);
}
