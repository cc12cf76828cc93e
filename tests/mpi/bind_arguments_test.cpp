// SPDX-License-Identifier: BSD-3-Clause
// Calls with bad arguments return the error class that MPI names. If only one rank passes a bad
// argument, a collective call still returns on all ranks. Needs at least two ranks.
#include <cstddef>
#include <functional>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

/// Claims that a call returns an error class if the last rank makes the call with a bad argument
/// (`bad`) and the other ranks with good arguments.
struct Rule {
    const char* what;
    int error_class;
    bool collective;
    std::function<int(MPI_File, bool bad)> call;
};

int ints[4] = {};

const Rule kRules[] = {
    {"negative count", MPI_ERR_COUNT, false,
     [](MPI_File f, bool bad) {
         return MPI_File_write_at(f, 0, ints, bad ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"negative count, collective", MPI_ERR_COUNT, true,
     [](MPI_File f, bool bad) {
         return MPI_File_write_at_all(f, 0, ints, bad ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"null buffer", MPI_ERR_BUFFER, false,
     [](MPI_File f, bool bad) {
         return MPI_File_read_at(f, 0, bad ? nullptr : ints, 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"null buffer, collective", MPI_ERR_BUFFER, true,
     [](MPI_File f, bool bad) {
         return MPI_File_read_all(f, bad ? nullptr : ints, 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"null buffer of no elements", MPI_SUCCESS, false,
     [](MPI_File f, bool bad) {
         return MPI_File_read_at(f, 0, bad ? nullptr : ints, 0, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"null datatype", MPI_ERR_TYPE, false,
     [](MPI_File f, bool bad) {
         return MPI_File_write(f, ints, 1, bad ? MPI_DATATYPE_NULL : MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"null datatype, collective", MPI_ERR_TYPE, true,
     [](MPI_File f, bool bad) {
         return MPI_File_write_all(f, ints, 1, bad ? MPI_DATATYPE_NULL : MPI_INT,
                                   MPI_STATUS_IGNORE);
     }},
    {"negative offset", MPI_ERR_ARG, false,
     [](MPI_File f, bool bad) {
         return MPI_File_read_at(f, bad ? -1 : 0, ints, 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"negative offset, collective", MPI_ERR_ARG, true,
     [](MPI_File f, bool bad) {
         return MPI_File_read_at_all(f, bad ? -1 : 0, ints, 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"unknown whence", MPI_ERR_ARG, false,
     [](MPI_File f, bool bad) { return MPI_File_seek(f, 0, bad ? 12345 : MPI_SEEK_SET); }},
    {"seek before the beginning", MPI_ERR_ARG, false,
     [](MPI_File f, bool bad) { return MPI_File_seek(f, bad ? -1 : 0, MPI_SEEK_SET); }},
    {"negative size", MPI_ERR_ARG, true,
     [](MPI_File f, bool bad) { return MPI_File_set_size(f, bad ? -1 : 100); }},
    {"sizes that differ", MPI_ERR_NOT_SAME, true,
     [](MPI_File f, bool bad) { return MPI_File_set_size(f, bad ? 7 : 8); }},
    {"negative displacement", MPI_ERR_ARG, true,
     [](MPI_File f, bool bad) {
         return MPI_File_set_view(f, bad ? -1 : 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
     }},
    {"null etype", MPI_ERR_TYPE, true,
     [](MPI_File f, bool bad) {
         return MPI_File_set_view(f, 0, bad ? MPI_DATATYPE_NULL : MPI_BYTE, MPI_BYTE, "native",
                                  MPI_INFO_NULL);
     }},
    {"null filetype", MPI_ERR_TYPE, true,
     [](MPI_File f, bool bad) {
         return MPI_File_set_view(f, 0, MPI_BYTE, bad ? MPI_DATATYPE_NULL : MPI_BYTE, "native",
                                  MPI_INFO_NULL);
     }},
    {"filetype not made of etypes", MPI_ERR_ARG, true,
     [](MPI_File f, bool bad) {
         return MPI_File_set_view(f, 0, MPI_INT, bad ? MPI_CHAR : MPI_INT, "native", MPI_INFO_NULL);
     }},
    {"unknown data representation", MPI_ERR_UNSUPPORTED_DATAREP, true,
     [](MPI_File f, bool bad) {
         return MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, bad ? "morse" : "native",
                                  MPI_INFO_NULL);
     }},
    {"null data representation", MPI_ERR_ARG, true,
     [](MPI_File f, bool bad) {
         return MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, bad ? nullptr : "native",
                                  MPI_INFO_NULL);
     }},
    {"null result", MPI_ERR_ARG, false,
     [](MPI_File f, bool bad) {
         MPI_Offset size;
         return MPI_File_get_size(f, bad ? nullptr : &size);
     }},
    {"null file handle", MPI_ERR_FILE, false,
     [](MPI_File f, bool bad) {
         MPI_Offset size;
         return MPI_File_get_size(bad ? MPI_FILE_NULL : f, &size);
     }},
};

void each_rule_holds() {
    const bool bad = rank_of_world() == size_of_world() - 1;
    for (const Rule& rule : kRules) {
        MPI_File file = open_scratch();
        const int wanted = bad || rule.collective ? rule.error_class : MPI_SUCCESS;
        const int got = class_of(rule.call(file, bad));
        if (got != wanted)
            std::fprintf(stderr, "%s: class %d, wanted %d\n", rule.what, got, wanted);
        CHECK(got == wanted);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    }
}

void each_bad_mode_is_refused() {
    const int modes[] = {0,
                         MPI_MODE_CREATE,
                         MPI_MODE_RDONLY | MPI_MODE_WRONLY,
                         MPI_MODE_RDONLY | MPI_MODE_RDWR,
                         MPI_MODE_RDONLY | MPI_MODE_CREATE,
                         MPI_MODE_RDONLY | MPI_MODE_EXCL,
                         MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                         MPI_MODE_RDWR | (1 << 20)};
    const std::string name = shared_name();
    for (const int mode : modes) {
        MPI_File file;
        CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file)) ==
              MPI_ERR_AMODE);
        CHECK(file == MPI_FILE_NULL);
    }
}

void an_open_with_one_bad_rank_fails_everywhere() {
    const bool bad = rank_of_world() == size_of_world() - 1;
    const std::string name = shared_name();
    MPI_File file;
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, bad ? nullptr : name.c_str(),
                                 MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) ==
          MPI_ERR_ARG);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name.c_str(),
                                 MPI_MODE_CREATE | (bad ? MPI_MODE_RDWR : MPI_MODE_WRONLY),
                                 MPI_INFO_NULL, &file)) == MPI_ERR_NOT_SAME);
    CHECK(class_of(MPI_File_open(MPI_COMM_NULL, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                                 MPI_INFO_NULL, &file)) == MPI_ERR_COMM);
}

void an_access_against_the_mode_is_refused() {
    const std::string name = shared_name();
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_read_at_all(file, 0, ints, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_ACCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_at_all(file, 0, ints, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_write_at(file, 0, ints, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_READ_ONLY);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    each_rule_holds();
    each_bad_mode_is_refused();
    an_open_with_one_bad_rank_fails_everywhere();
    an_access_against_the_mode_is_refused();
    const int result = verdict("bind_arguments");
    MPI_Finalize();
    return result;
}
