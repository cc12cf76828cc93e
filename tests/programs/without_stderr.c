// SPDX-License-Identifier: BSD-3-Clause
/* A program that has a file of its own, or a pipe without a reader, on descriptor 2 when the
 * library prints a message.
 *
 * usage: without_stderr FOLDER closed|pipe early|late. "closed" closes standard error, if it is
 * open, and opens FOLDER/data in its place; "pipe" replaces it by a pipe without a reader;
 * "early" and "late" do so before and after MPI_Init. An invalid value of a hint makes the
 * library print a message. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int take_descriptor_2(const char* folder, const char* way) {
    char path[4096];
    int ends[2];
    if (strcmp(way, "pipe") == 0) {
        if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) != STDERR_FILENO) return 1;
        close(ends[0]);
        close(ends[1]);
        return 0;
    }
    close(STDERR_FILENO);
    snprintf(path, sizeof path, "%s/data", folder);
    return open(path, O_CREAT | O_RDWR | O_TRUNC, 0600) == STDERR_FILENO ? 0 : 1;
}

int main(int argc, char** argv) {
    char path[4096];
    MPI_File file;
    MPI_Info info;
    if (argc != 4) return 1;
    const int early = strcmp(argv[3], "early") == 0;
    if (early && take_descriptor_2(argv[1], argv[2]) != 0) return 2;
    MPI_Init(&argc, &argv);
    if (!early && take_descriptor_2(argv[1], argv[2]) != 0) return 2;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "banana");
    snprintf(path, sizeof path, "%s/file", argv[1]);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) !=
        MPI_SUCCESS)
        return 3;
    MPI_File_close(&file);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
