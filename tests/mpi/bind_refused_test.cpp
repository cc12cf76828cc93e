// SPDX-License-Identifier: BSD-3-Clause
// The call that makes or completes an access with a refused argument (the call itself, the end of a
// split access, or MPI_Wait) ends the access. It returns the error class that MPI names, on all
// ranks if the access is collective, and the file can be used again. In a collective read, ranks
// with good arguments may get the error in their next collective access instead. The test tries
// every blocking, nonblocking and split access with every argument that may be refused, on one rank
// and on all.
#include <string>
#include <vector>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

int ints[4] = {1, 2, 3, 4};

struct Arguments {
    MPI_Offset offset = 0;
    int* buffer = ints;
    int count = 1;
    MPI_Datatype datatype = MPI_INT;
};

struct Refused {
    const char* what;
    int error_class;
    bool offset_only;  ///< applies only to calls with an explicit offset
    void (*spoil)(Arguments&);
};

const Refused kRefused[] = {
    {"negative count", MPI_ERR_COUNT, false, [](Arguments& a) { a.count = -1; }},
    {"null buffer", MPI_ERR_BUFFER, false, [](Arguments& a) { a.buffer = nullptr; }},
    {"null datatype", MPI_ERR_TYPE, false, [](Arguments& a) { a.datatype = MPI_DATATYPE_NULL; }},
    {"part of an etype", MPI_ERR_ARG, false, [](Arguments& a) { a.datatype = MPI_BYTE; }},
    {"negative offset", MPI_ERR_ARG, true, [](Arguments& a) { a.offset = -1; }},
};

/// One whole access: a single call, or the two calls that begin and end the access.
struct Call {
    const char* name;
    int (*make)(MPI_File, const Arguments&);
};

#define WITH_OFFSET f, a.offset, a.buffer, a.count, a.datatype
#define WITHOUT_OFFSET f, a.buffer, a.count, a.datatype
#define CALL(name, ...)                                          \
    {                                                            \
#name, [](MPI_File f, const Arguments& a) {                    \
         MPI_Status status;                                         \
         return MPI_File_##name(__VA_ARGS__, &status);              \
     } \
    }
#define STARTED(name, ...)                                                     \
    {                                                                          \
#name, [](MPI_File f, const Arguments& a) {                                  \
         MPI_Status status;                                                       \
         MPI_Request request = MPI_REQUEST_NULL;                                  \
         const int code = MPI_File_##name(__VA_ARGS__, &request);                 \
         if (code != MPI_SUCCESS) CHECK(request == MPI_REQUEST_NULL);             \
         return code == MPI_SUCCESS ? MPI_Wait(&request, &status) : code;         \
     } \
    }
#define SPLIT(name, ...)                                                             \
    {                                                                                \
#name, [](MPI_File f, const Arguments& a) {                                        \
         MPI_Status status;                                                             \
         const int code = MPI_File_##name##_begin(__VA_ARGS__);                         \
         return code == MPI_SUCCESS ? MPI_File_##name##_end(f, a.buffer, &status) : code; \
     } \
    }

const Call kCalls[] = {
    CALL(read_at, WITH_OFFSET),
    CALL(write_at, WITH_OFFSET),
    CALL(read, WITHOUT_OFFSET),
    CALL(write, WITHOUT_OFFSET),
    CALL(read_shared, WITHOUT_OFFSET),
    CALL(write_shared, WITHOUT_OFFSET),
    CALL(read_at_all, WITH_OFFSET),
    CALL(write_at_all, WITH_OFFSET),
    CALL(read_all, WITHOUT_OFFSET),
    CALL(write_all, WITHOUT_OFFSET),
    CALL(read_ordered, WITHOUT_OFFSET),
    CALL(write_ordered, WITHOUT_OFFSET),
    STARTED(iread_at, WITH_OFFSET),
    STARTED(iwrite_at, WITH_OFFSET),
    STARTED(iread, WITHOUT_OFFSET),
    STARTED(iwrite, WITHOUT_OFFSET),
    STARTED(iread_shared, WITHOUT_OFFSET),
    STARTED(iwrite_shared, WITHOUT_OFFSET),
    STARTED(iread_at_all, WITH_OFFSET),
    STARTED(iwrite_at_all, WITH_OFFSET),
    STARTED(iread_all, WITHOUT_OFFSET),
    STARTED(iwrite_all, WITHOUT_OFFSET),
    SPLIT(read_at_all, WITH_OFFSET),
    SPLIT(write_at_all, WITH_OFFSET),
    SPLIT(read_all, WITHOUT_OFFSET),
    SPLIT(write_all, WITHOUT_OFFSET),
    SPLIT(read_ordered, WITHOUT_OFFSET),
    SPLIT(write_ordered, WITHOUT_OFFSET),
};

bool is(const Call& call, const char* part) {
    return std::string(call.name).find(part) != std::string::npos;
}

/// Checks that new accesses of all kinds succeed. They would not if the refused access still
/// counted as begun.
void can_be_used(MPI_File file) {
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_File_write_at_all(file, rank_of_world(), ints, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at_all(file, rank_of_world(), ints, 1, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_begin(file, rank_of_world(), ints, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(file, ints, &status) == MPI_SUCCESS);
}

/// Collective. Makes the next access after a failure that only some ranks have reported. All ranks
/// report it now, and no data is moved. Returns the error code.
int next_access(MPI_File file) {
    MPI_Status status;
    const int code = MPI_File_read_at_all(file, 0, ints, 1, MPI_INT, &status);
    CHECK(moved_bytes(status) == 0);
    return code;
}

void is_over_afterwards(MPI_File file, const Call& call, const Refused& refused, bool all) {
    const bool bad = all || rank_of_world() == size_of_world() - 1;
    const bool collective = is(call, "_all") || is(call, "_ordered");
    Arguments arguments;
    if (bad) refused.spoil(arguments);
    MPI_Offset before = -1, after = -2;
    MPI_File_get_position(file, &before);
    const int got = class_of(call.make(file, arguments));
    MPI_File_get_position(file, &after);
    // In a collective read, ranks with good arguments may learn of the error only in their next
    // collective access.
    const int hearing = static_cast<int>(sum_of_ranks(got != MPI_SUCCESS ? 1 : 0));
    const bool late = collective && is(call, "read") && hearing < size_of_world();
    const int wanted = bad || (collective && !late) ? refused.error_class : MPI_SUCCESS;
    if (got != wanted)
        std::fprintf(stderr, "%s, %s: class %d, wanted %d\n", call.name, refused.what, got, wanted);
    CHECK(got == wanted);
    if (bad) CHECK(after == before);
    if (late) CHECK(class_of(next_access(file)) == refused.error_class);
}

void each_refused_argument_of_each_access() {
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (const Call& call : kCalls) {
        for (const Refused& refused : kRefused) {
            if (refused.offset_only && !is(call, "_at")) continue;
            for (const bool all : {false, true}) is_over_afterwards(file, call, refused, all);
            can_be_used(file);
        }
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Ends a split access with another buffer or with the end routine of another kind. That is an
/// error, and ends the access.
void ends_that_do_not_match() {
    MPI_File file = open_scratch();
    MPI_Status status;
    const MPI_Offset mine = rank_of_world() * static_cast<MPI_Offset>(sizeof(int));
    CHECK(MPI_File_write_at_all_begin(file, mine, ints, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_at_all_end(file, ints + 1, &status)) == MPI_ERR_ARG);
    can_be_used(file);
    CHECK(MPI_File_write_at_all_begin(file, mine, ints, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_read_at_all_end(file, ints, &status)) == MPI_ERR_OTHER);
    can_be_used(file);
    CHECK(class_of(MPI_File_write_at_all_end(file, ints, &status)) == MPI_ERR_OTHER);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    each_refused_argument_of_each_access();
    ends_that_do_not_match();
    const int result = verdict("bind_refused");
    MPI_Finalize();
    return result;
}
