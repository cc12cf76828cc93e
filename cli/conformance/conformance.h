// SPDX-License-Identifier: BSD-3-Clause
/* The frame of the conformance suite: rules of the MPI I/O chapter as small functions that need
 * only mpi.h. A rule runs on all ranks, records what it finds wrong and continues, so that all
 * ranks make the same collective calls. Every file of rules ends with its table. */
#pragma once

#include <mpi.h>
#include <stddef.h>

enum { kMessageBytes = 400, kPathBytes = 4096 };

typedef enum {
    kUsual,
    kAtFinalize, /* runs inside MPI_Finalize, from an attribute of MPI_COMM_SELF */
    kLong,       /* takes much time or space; `oratorio conformance` runs it only on request */
    kSelfTest    /* has a known outcome, to test the runner; runs only by name */
} RuleKind;

typedef struct Rule Rule;

/* The arguments of a rule and, in its last members, what it has found. */
typedef struct {
    const Rule* rule;
    MPI_Comm comm; /* communicator of all ranks, only for this rule */
    int rank, size;
    /* name of the rule's file, the same on all ranks; the file doesn't exist when the rule begins
     */
    char path[kPathBytes];
    char other[kPathBytes]; /* name of a second file */
    int is_wrong;           /* not 0 if a check failed on this rank */
    int is_unavailable;     /* not 0 if the rule can't be tested here; then message says why */
    char message[kMessageBytes];
} Test;

struct Rule {
    const char* section;  /* section of MPI-4.1 */
    const char* id;       /* a word of letters, digits, _ and - */
    const char* sentence; /* the claim that the rule tests */
    const char* routines; /* procedures that the rule tests, without MPI_ or MPI_File_ */
    void (*run)(Test* t);
    int ranks; /* least number of ranks with which the rule runs */
    RuleKind kind;
    const char* operation; /* name of the Operation that the rule tests, or NULL */
};

typedef struct {
    const Rule* rules;
    int count;
} RuleTable;

#define RULES(NAME, ...)                           \
    static const Rule NAME##_rows[] = __VA_ARGS__; \
    const RuleTable NAME = {NAME##_rows, (int)(sizeof NAME##_rows / sizeof NAME##_rows[0])}

/* Checks. Each records a failure with file and line, unless this rank has already recorded
 * one. */
void wrong(Test* t, const char* file, int line, const char* format, ...);
int check_succeeds(Test* t, int code, const char* call, const char* file, int line);
/* Checks that the call returned an error of one of `classes`. The list ends with -1; an empty list
 * accepts any error. */
void check_fails(Test* t, int code, const int* classes, const char* call, const char* file,
                 int line);
void check_equal(Test* t, long long found, long long expected, const char* what, const char* file,
                 int line);
/* Records that the rule can't be tested here. */
void unavailable(Test* t, const char* why);

#define CHECK(t, condition, ...) \
    ((condition) ? (void)0 : wrong((t), __FILE__, __LINE__, __VA_ARGS__))
/* Checks that the call returns MPI_SUCCESS; returns whether it did. */
#define OK(t, call) check_succeeds((t), (call), #call, __FILE__, __LINE__)
/* Checks that the call returns an error of one of these classes. */
#define FAILS_AS(t, call, ...) \
    check_fails((t), (call), (const int[]){__VA_ARGS__, -1}, #call, __FILE__, __LINE__)
/* Checks that the call returns an error. */
#define FAILS(t, call) check_fails((t), (call), (const int[]){-1}, #call, __FILE__, __LINE__)
#define EQUAL(t, found, expected) \
    check_equal((t), (long long)(found), (long long)(expected), #found, __FILE__, __LINE__)

/* Functions that rules share (fixture.c). "Collective" means collective over t->comm. */

/* Collective. Opens the rule's file for reading and writing; creates it if it doesn't exist. */
MPI_File open_new(Test* t);
/* Collective. Opens the file with this name and access mode. */
MPI_File open_mode(Test* t, const char* path, int amode);
/* Collective. Closes the file and waits for all ranks. */
void close_file(Test* t, MPI_File* file);
/* Collective. Makes a file of `count` ints: first, first + step, first + 2 step, ... */
void make_file(Test* t, const char* path, int count, int first, int step);
/* Reads `count` bytes of the file through a handle of this rank alone. Returns how many of them the
 * file has; the rest are set to 0xEE. */
int stored_bytes(Test* t, const char* path, MPI_Offset offset, void* bytes, int count);
/* Collective. Rank 0 compares `count` ints of the file with the expected ones. */
void check_stored(Test* t, const char* path, const int* expected, int count);
/* Checks that the status reports `count` whole items of the type. */
void check_count(Test* t, const MPI_Status* status, MPI_Datatype type, int count);
/* Collective. Syncs, waits for all ranks, and syncs again, so that data written before is visible
 * to all ranks afterwards (14.6.1). */
void settle(Test* t, MPI_File file);
void check_position(Test* t, MPI_File file, MPI_Offset expected);
MPI_Offset file_size(Test* t, MPI_File file);
/* Collective over the file's ranks. Sets a view of ints that begins at a displacement in bytes. */
void view_ints(Test* t, MPI_File file, MPI_Offset displacement);
/* Returns a committed type of `block` elements of `type`, with an extent of `stride` elements. */
MPI_Datatype block_of(MPI_Datatype type, int block, int stride);
/* Returns the address of a procedure that this MPI may lack, or NULL. */
void* procedure(const char* name);

/* The data access procedures as values, so that one rule can test several of them
 * (operations.c). */

typedef enum { kExplicit, kIndividual, kShared } Pointer;

typedef struct {
    MPI_File file;
    MPI_Offset offset; /* used only for explicit offsets */
    void* buffer;
    MPI_Count count;
    MPI_Datatype type;
} Access;

typedef struct {
    const char* name;   /* name of the procedure, without MPI_File_ */
    const char* symbol; /* name to look up before use, or NULL */
    int is_write;
    Pointer pointer;
    int is_collective;
    int (*blocking)(const Access*, MPI_Status*);
    int (*start)(const Access*, MPI_Request*);
    int (*begin)(const Access*);
    int (*end)(const Access*, MPI_Status*);
} Operation;

/* Returns the rule's operation. If this MPI lacks it, records that and returns NULL. */
const Operation* operation_of(Test* t);
/* Runs the operation to its end: by a blocking call, by start and wait, or by begin and end. */
int operate(const Operation* operation, const Access* access, MPI_Status* status);
