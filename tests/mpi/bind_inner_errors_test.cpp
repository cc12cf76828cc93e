// SPDX-License-Identifier: BSD-3-Clause
// Errors of the library's own calls to the host, for example from failing callbacks of a datatype's
// attributes or from invalid handles, don't reach the handlers of MPI_COMM_WORLD and MPI_COMM_SELF.
// Afterwards the program's handlers are in force as before.
#include <cstring>
#include <vector>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

int handled = 0;
extern "C" void count_error(MPI_Comm*, int*, ...) {
    ++handled;
}

int copies = 0, deletions = 0;
extern "C" int fail_to_copy(MPI_Datatype, int, void*, void*, void*, int* flag) {
    ++copies;
    *flag = 0;
    return MPI_ERR_OTHER;
}
extern "C" int copy_well(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
    *static_cast<void**>(copy) = value;
    *flag = 1;
    return MPI_SUCCESS;
}
/// True while the program deletes its own attribute. Otherwise `fail_to_delete` fails, because then
/// the library is deleting a copy of the attribute.
bool deleting_ours = false;
extern "C" int fail_to_delete(MPI_Datatype, int, void*, void*) {
    ++deletions;
    return deleting_ours ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/// Returns a type of every other int, with an attribute.
MPI_Datatype with_attribute(MPI_Type_copy_attr_function* copy,
                            MPI_Type_delete_attr_function* drop) {
    static int value = 5;
    int key = MPI_KEYVAL_INVALID;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_keyval(copy, drop, &key, nullptr);
    MPI_Type_vector(10, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, key, &value);
    return type;
}

void a_view_needs_no_copy_of_attributes() {
    MPI_Datatype type = with_attribute(fail_to_copy, MPI_TYPE_NULL_DELETE_FN);
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    std::vector<int> ints(20, 3), back(20);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_File_write_at(file, 0, ints.data(), 1, type, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(file, 0, back.data(), 1, type, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back[0] == 3 && back[1] == 0 && back[18] == 3);
    MPI_Offset displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
    char representation[MPI_MAX_DATAREP_STRING];
    CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, representation) == MPI_SUCCESS);
    MPI_Count size = 0, lower = -1, extent = 0;
    MPI_Type_size_x(filetype, &size);
    MPI_Type_get_extent_x(filetype, &lower, &extent);
    CHECK(etype == MPI_INT && size == 40 && lower == 0 && extent == 76);
    MPI_Type_free(&filetype);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(copies == 0);
    MPI_Type_free(&type);
}

extern "C" int convert(void* user, MPI_Datatype, int count, void* file, MPI_Offset, void* extra) {
    const bool writes = extra != nullptr;
    if (writes) std::memcpy(file, user, sizeof(int) * static_cast<std::size_t>(count));
    return MPI_SUCCESS;
}
extern "C" int same_extent(MPI_Datatype, MPI_Aint* extent, void*) {
    *extent = sizeof(int);
    return MPI_SUCCESS;
}

/// Checks that an access succeeds even if an attribute of its datatype refuses to be copied or
/// deleted. Conversion functions of the program get a copy of the datatype with its attributes.
void a_conversion_does_without_attributes_that_refuse() {
    static int writes = 1;
    CHECK(MPI_Register_datarep("plain", convert, convert, same_extent, &writes) == MPI_SUCCESS);
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "plain", MPI_INFO_NULL) == MPI_SUCCESS);
    const int ints[20] = {};
    MPI_Datatype type = with_attribute(fail_to_copy, MPI_TYPE_NULL_DELETE_FN);
    CHECK(MPI_File_write_at(file, 0, ints, 1, type, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(copies > 0);
    MPI_Type_free(&type);
    type = with_attribute(copy_well, fail_to_delete);
    CHECK(MPI_File_write_at(file, 0, ints, 1, type, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(deletions > 0);
    deleting_ours = true;
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

#if defined(MPICH_NUMVERSION) && !defined(MPI_ABI)
#define HANDLES_ARE_CHECKED
/// Passes handles of another kind, such as a communicator instead of a datatype. Only MPICH detects
/// that; other hosts' handles are pointers, which they don't check.
void handles_that_are_none_are_errors_of_the_call() {
    const auto no_type = static_cast<MPI_Datatype>(MPI_COMM_WORLD);
    const auto no_info = static_cast<MPI_Info>(MPI_COMM_WORLD);
    const auto no_comm = static_cast<MPI_Comm>(MPI_INT);
    int ints[3] = {};
    MPI_File file = open_scratch();
    CHECK(class_of(MPI_File_write_at(file, 0, ints, 1, no_type, MPI_STATUS_IGNORE)) ==
          MPI_ERR_TYPE);
    CHECK(class_of(MPI_File_write_at_all(file, 0, ints, 1, no_type, MPI_STATUS_IGNORE)) ==
          MPI_ERR_TYPE);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, no_type, "native", MPI_INFO_NULL)) ==
          MPI_ERR_TYPE);
    CHECK(class_of(MPI_File_set_info(file, no_info)) == MPI_ERR_ARG);
    const MPI_Info on_one_rank = rank_of_world() == 1 ? no_info : MPI_INFO_NULL;
    CHECK(class_of(MPI_File_set_info(file, on_one_rank)) == MPI_ERR_ARG);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    const std::string name = shared_name();
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    CHECK(class_of(MPI_File_open(no_comm, name.c_str(), mode, MPI_INFO_NULL, &file)) ==
          MPI_ERR_COMM);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, no_info, &file)) ==
          MPI_ERR_ARG);
}
#endif

/// Makes a failing call of the program itself. Returns how often the program's error handlers ran.
int errors_handled_of_the_programs_own() {
    const int before = handled;
    MPI_Datatype type = with_attribute(fail_to_copy, MPI_TYPE_NULL_DELETE_FN);
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    // Hosts disagree on what the call returns after a handler has run.
    (void)MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    copies = 0;
    return handled - before;
}

void run() {
    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_error, &counting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
#ifdef OPEN_MPI  // MPICH uses the handler of MPI_COMM_WORLD where MPI_COMM_SELF has none
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
#endif
    CHECK(errors_handled_of_the_programs_own() == 1);
    handled = 0;
    a_view_needs_no_copy_of_attributes();
    a_conversion_does_without_attributes_that_refuse();
#ifdef HANDLES_ARE_CHECKED
    handles_that_are_none_are_errors_of_the_call();
#endif
    CHECK(handled == 0);
    CHECK(errors_handled_of_the_programs_own() == 1);
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
        MPI_Errhandler found = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(comm, &found);
#ifdef OPEN_MPI
        CHECK(found == counting);
#else
        CHECK(found == (comm == MPI_COMM_WORLD ? counting : MPI_ERRORS_ARE_FATAL));
#endif
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::test::run();
    const int result = oratorio::test::verdict("bind_inner_errors");
    MPI_Finalize();
    return result;
}
