/* SPDX-License-Identifier: BSD-3-Clause */
/* Small independent accesses, each made many times by a function of its own, so that callgrind can
   count the instructions of a call. No function's name begins with another's, which would confuse
   callgrind. Run by one process, without a launcher: call_instructions FILE */
#include <mpi.h>
#include <stdlib.h>

enum { bytes = 512, calls = 200, places = 50, rows_of_memory = 8 };

static char memory[2 * bytes];
static const char* volatile under_way; /* keeps the compiler from merging functions with equal
                                          bodies */
static MPI_Datatype rows;              /* 512 bytes in 8 pieces, 64 bytes apart */

#define MEASURED(name, call)                                                                     \
    __attribute__((noinline)) static void measured_##name##_once(MPI_File file, MPI_Offset at) { \
        MPI_Status status;                                                                       \
        (void)at;                                                                                \
        under_way = #name;                                                                       \
        if ((call) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);                                 \
    }

static int read_and_wait(MPI_File file, MPI_Offset at, MPI_Status* status) {
    MPI_Request request;
    const int code = MPI_File_iread_at(file, at, memory, bytes, MPI_BYTE, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, status);
}

/* Returns two datatypes of eight bytes in turn. */
static MPI_Datatype other_type(void) {
    static int number;
    return number++ % 2 == 0 ? MPI_DOUBLE : MPI_INT64_T;
}

MEASURED(write_at, MPI_File_write_at(file, at, memory, bytes, MPI_BYTE, &status))
MEASURED(read_at, MPI_File_read_at(file, at, memory, bytes, MPI_BYTE, &status))
MEASURED(write, MPI_File_write(file, memory, bytes, MPI_BYTE, &status))
MEASURED(read, MPI_File_read(file, memory, bytes, MPI_BYTE, &status))
MEASURED(read_at_rows, MPI_File_read_at(file, at, memory, 1, rows, &status))
MEASURED(write_at_types, MPI_File_write_at(file, at, memory, bytes / 8, other_type(), &status))
MEASURED(iread_at, read_and_wait(file, at, &status))
MEASURED(write_at_gaps, MPI_File_write_at(file, at, memory, bytes, MPI_BYTE, &status))
MEASURED(read_at_gaps, MPI_File_read_at(file, at, memory, bytes, MPI_BYTE, &status))

static void repeat(MPI_File file, void (*call)(MPI_File, MPI_Offset)) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    for (int i = 0; i < calls; ++i) call(file, (MPI_Offset)(i % places) * bytes);
}

/* Makes a view in which each 512 bytes of data are followed by 1024 bytes that do not belong to it.
 */
static void leave_gaps(MPI_File file) {
    MPI_Datatype piece, spaced;
    MPI_Type_contiguous(bytes, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, 3 * bytes, &spaced);
    MPI_Type_commit(&spaced);
    MPI_File_set_view(file, 0, MPI_BYTE, spaced, "native", MPI_INFO_NULL);
    MPI_Type_free(&piece);
    MPI_Type_free(&spaced);
}

int main(int argc, char** argv) {
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Type_vector(rows_of_memory, bytes / rows_of_memory, 2 * bytes / rows_of_memory, MPI_BYTE,
                    &rows);
    MPI_Type_commit(&rows);
    if (argc < 2 || MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                  MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return EXIT_FAILURE;
    repeat(file, measured_write_at_once);
    repeat(file, measured_read_at_once);
    repeat(file, measured_write_once);
    repeat(file, measured_read_once);
    repeat(file, measured_read_at_rows_once);
    repeat(file, measured_write_at_types_once);
    repeat(file, measured_iread_at_once);
    leave_gaps(file);
    repeat(file, measured_write_at_gaps_once);
    repeat(file, measured_read_at_gaps_once);
    MPI_File_close(&file);
    MPI_Type_free(&rows);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
