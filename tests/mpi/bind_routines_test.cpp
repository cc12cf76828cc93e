// SPDX-License-Identifier: BSD-3-Clause
// The blocking accesses with explicit offsets and individual file pointers do their work on every
// host, in the int and in the large-count form; so do the routines for sizes, pointers, hints and
// deletion.
#include <cstring>
#include <numeric>
#include <vector>

#include "mpi/bind_support.hpp"

// Open MPI's header has no large-count forms. Programs find out with a weak reference whether a
// library has them.
#define WEAK __attribute__((weak))
extern "C" {
WEAK int MPI_File_read_c(MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_read_all_c(MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_read_at_c(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_read_at_all_c(MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_write_c(MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_write_all_c(MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*);
WEAK int MPI_File_write_at_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
                             MPI_Status*);
WEAK int MPI_File_write_at_all_c(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
                                 MPI_Status*);
WEAK int MPI_File_get_type_extent_c(MPI_File, MPI_Datatype, MPI_Count*);
}

namespace oratorio::test {
namespace {

constexpr int kCount = 1000;

std::vector<int> block_of(int rank) {
    std::vector<int> values(kCount);
    std::iota(values.begin(), values.end(), rank * kCount);
    return values;
}

int count_of(MPI_Status& status) {
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    return count;
}

/// The routines of one form; the type of the count differs between the two forms.
template <class Count>
struct Forms {
    int (*write)(MPI_File, const void*, Count, MPI_Datatype, MPI_Status*);
    int (*write_all)(MPI_File, const void*, Count, MPI_Datatype, MPI_Status*);
    int (*write_at)(MPI_File, MPI_Offset, const void*, Count, MPI_Datatype, MPI_Status*);
    int (*write_at_all)(MPI_File, MPI_Offset, const void*, Count, MPI_Datatype, MPI_Status*);
    int (*read)(MPI_File, void*, Count, MPI_Datatype, MPI_Status*);
    int (*read_all)(MPI_File, void*, Count, MPI_Datatype, MPI_Status*);
    int (*read_at)(MPI_File, MPI_Offset, void*, Count, MPI_Datatype, MPI_Status*);
    int (*read_at_all)(MPI_File, MPI_Offset, void*, Count, MPI_Datatype, MPI_Status*);
};

template <class Count>
void each_access_moves_the_data(const Forms<Count>& forms) {
    const int rank = rank_of_world();
    const std::vector<int> mine = block_of(rank);
    const std::vector<int> theirs = block_of((rank + 1) % size_of_world());
    const MPI_Offset own = MPI_Offset{4} * kCount * rank;
    const MPI_Offset other = MPI_Offset{4} * kCount * ((rank + 1) % size_of_world());
    const MPI_Offset area = MPI_Offset{4} * kCount * size_of_world();
    MPI_File file = open_scratch();
    MPI_Status status;
    // The four writing routines use separate areas of the file.
    CHECK(forms.write_at(file, own, mine.data(), kCount, MPI_INT, &status) == MPI_SUCCESS &&
          count_of(status) == kCount);
    CHECK(forms.write_at_all(file, area + own, mine.data(), kCount, MPI_INT, &status) ==
              MPI_SUCCESS &&
          count_of(status) == kCount);
    CHECK(MPI_File_seek(file, 2 * area + own, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(forms.write(file, mine.data(), kCount, MPI_INT, &status) == MPI_SUCCESS &&
          count_of(status) == kCount);
    CHECK(MPI_File_seek(file, 3 * area + own, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(forms.write_all(file, mine.data(), kCount, MPI_INT, &status) == MPI_SUCCESS &&
          count_of(status) == kCount);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);

    std::vector<int> got(kCount);
    const auto check_read = [&](int code) {
        CHECK(code == MPI_SUCCESS && count_of(status) == kCount && got == theirs);
        got.assign(kCount, -1);
    };
    check_read(forms.read_at(file, other, got.data(), kCount, MPI_INT, &status));
    check_read(forms.read_at_all(file, area + other, got.data(), kCount, MPI_INT, &status));
    CHECK(MPI_File_seek(file, 2 * area + other, MPI_SEEK_SET) == MPI_SUCCESS);
    check_read(forms.read(file, got.data(), kCount, MPI_INT, &status));
    CHECK(MPI_File_seek(file, 3 * area + other, MPI_SEEK_SET) == MPI_SUCCESS);
    check_read(forms.read_all(file, got.data(), kCount, MPI_INT, &status));
    CHECK(forms.read_at(file, other, got.data(), kCount, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void status_at_the_end_of_file_holds_the_bytes_read() {
    MPI_File file = open_scratch();
    MPI_Status status;
    status.MPI_ERROR = 4711;
    std::vector<int> values(10);
    CHECK(MPI_File_set_size(file, 4 * 3 + 2) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 0, values.data(), 10, MPI_INT, &status) == MPI_SUCCESS);
    int bytes = -1;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == 14);
    CHECK(count_of(status) == MPI_UNDEFINED);
    int cancelled = -1;
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled == 0);
    CHECK(status.MPI_ERROR == 4711);
    CHECK(MPI_File_read_at(file, 100, values.data(), 10, MPI_INT, &status) == MPI_SUCCESS &&
          count_of(status) == 0);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void pointers_and_sizes_are_told() {
    MPI_File file = open_scratch();
    MPI_Offset offset = -1;
    CHECK(MPI_File_preallocate(file, 5000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &offset) == MPI_SUCCESS && offset == 5000);
    // Without the barrier another rank may be in the next call while this rank queries the size.
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_size(file, 1000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &offset) == MPI_SUCCESS && offset == 1000);
    CHECK(MPI_File_seek(file, -100, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &offset) == MPI_SUCCESS && offset == 900);
    CHECK(MPI_File_seek(file, -50, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &offset) == MPI_SUCCESS && offset == 850);
    CHECK(MPI_File_get_byte_offset(file, 17, &offset) == MPI_SUCCESS && offset == 17);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
}

void group_mode_and_atomicity_are_told() {
    MPI_File file = open_scratch();
    MPI_Group group, world;
    CHECK(MPI_File_get_group(file, &group) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int relation = MPI_UNEQUAL;
    MPI_Group_compare(group, world, &relation);
    CHECK(relation == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    int mode = 0;
    CHECK(MPI_File_get_amode(file, &mode) == MPI_SUCCESS);
    CHECK(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    int atomic = -1;
    CHECK(MPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 0);
    CHECK(MPI_File_set_atomicity(file, 7) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 1);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

std::string hint(MPI_Info info, const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found ? value : "";
}

void hints_come_back() {
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_File file = open_scratch(info);
    CHECK(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    CHECK(hint(used, "cb_buffer_size") == "1048576");
    MPI_Info_free(&used);
    MPI_Info_set(info, "cb_buffer_size", "2097152");
    CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
    CHECK(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    CHECK(hint(used, "cb_buffer_size") == "2097152");
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_deleted_file_is_gone() {
    const std::string name = shared_name();
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    if (rank_of_world() == 0) {
        CHECK(MPI_File_delete(name.c_str(), MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(class_of(MPI_File_delete(name.c_str(), MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL,
                                 &file)) == MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
}

void extents_are_those_in_memory() {
    MPI_File file = open_scratch();
    MPI_Datatype strided;
    MPI_Type_vector(3, 1, 5, MPI_DOUBLE, &strided);
    MPI_Aint extent = 0;
    MPI_Count large = 0;
    CHECK(MPI_File_get_type_extent(file, strided, &extent) == MPI_SUCCESS && extent == 11 * 8);
    CHECK(MPI_File_get_type_extent_c(file, strided, &large) == MPI_SUCCESS && large == 11 * 8);
    MPI_Type_free(&strided);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_file_of_one_rank_needs_no_other() {
    MPI_File file = MPI_FILE_NULL;
    const std::string name = shared_name() + "-" + std::to_string(rank_of_world());
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_SELF, name.c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    const char text[] = "alone";
    char got[sizeof text] = {};
    CHECK(MPI_File_write_all(file, text, sizeof text, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, got, sizeof text, MPI_CHAR, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(std::strcmp(got, text) == 0);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Checks that the PMPI names, which PMPI tools and Open MPI's Fortran bindings call, are the
/// library's, too.
void the_profiling_names_are_ours_too() {
    MPI_File file = open_scratch();
    int mode = 0;
    CHECK(PMPI_File_get_amode(file, &mode) == MPI_SUCCESS && (mode & MPI_MODE_RDWR) != 0);
    CHECK(PMPI_File_close(&file) == MPI_SUCCESS);
}

void run() {
    each_access_moves_the_data(Forms<int>{MPI_File_write, MPI_File_write_all, MPI_File_write_at,
                                          MPI_File_write_at_all, MPI_File_read, MPI_File_read_all,
                                          MPI_File_read_at, MPI_File_read_at_all});
    CHECK(MPI_File_read_at_all_c != nullptr);
    each_access_moves_the_data(Forms<MPI_Count>{
        MPI_File_write_c, MPI_File_write_all_c, MPI_File_write_at_c, MPI_File_write_at_all_c,
        MPI_File_read_c, MPI_File_read_all_c, MPI_File_read_at_c, MPI_File_read_at_all_c});
    status_at_the_end_of_file_holds_the_bytes_read();
    pointers_and_sizes_are_told();
    group_mode_and_atomicity_are_told();
    hints_come_back();
    a_deleted_file_is_gone();
    extents_are_those_in_memory();
    a_file_of_one_rank_needs_no_other();
    the_profiling_names_are_ours_too();
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::test::run();
    const int result = oratorio::test::verdict("bind_routines");
    MPI_Finalize();
    return result;
}
