// SPDX-License-Identifier: BSD-3-Clause
// File views: MPI_File_get_view returns what MPI_File_set_view set, predefined types by name and
// derived ones as new handles of the same layout; a view selects a rank's own data; a refused view
// leaves the old one.
#include <cstring>
#include <vector>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

struct GotView {
    MPI_Offset displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL;
    MPI_Datatype filetype = MPI_DATATYPE_NULL;
    char representation[MPI_MAX_DATAREP_STRING] = {};

    explicit GotView(MPI_File file) {
        CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, representation) ==
              MPI_SUCCESS);
    }
};

void a_new_file_is_seen_as_bytes() {
    MPI_File file = open_scratch();
    const GotView view(file);
    CHECK(view.displacement == 0 && view.etype == MPI_BYTE && view.filetype == MPI_BYTE);
    CHECK(std::strcmp(view.representation, "native") == 0);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Sets a view in which each rank owns every n-th int, for n ranks.
void a_strided_view_selects_the_ranks_own_data() {
    const int ranks = size_of_world(), rank = rank_of_world();
    MPI_Datatype one, tile;
    MPI_Type_contiguous(1, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, MPI_Aint{4} * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 8 + 4 * rank, MPI_INT, tile, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    // The file keeps the view after the program frees the types.
    MPI_Type_free(&tile);
    MPI_Type_free(&one);
    std::vector<int> values(100);
    for (int i = 0; i < 100; ++i) values[static_cast<std::size_t>(i)] = i * ranks + rank;
    CHECK(MPI_File_write_all(file, values.data(), 100, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Offset offset = -1;
    CHECK(MPI_File_get_position(file, &offset) == MPI_SUCCESS && offset == 100);
    CHECK(MPI_File_get_byte_offset(file, 3, &offset) == MPI_SUCCESS &&
          offset == 8 + 4 * rank + 3 * 4 * ranks);

    GotView view(file);
    CHECK(view.displacement == 8 + 4 * rank && view.etype == MPI_INT);
    MPI_Aint lower = -1, extent = -1;
    MPI_Type_get_extent(view.filetype, &lower, &extent);
    CHECK(lower == 0 && extent == 4 * ranks);
    int size = 0;
    MPI_Type_size(view.filetype, &size);
    CHECK(size == 4);
    // The datatypes that get_view returned make the same view when they are set.
    CHECK(MPI_File_set_view(file, view.displacement, view.etype, view.filetype, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&view.filetype);

    CHECK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    std::vector<int> all(static_cast<std::size_t>(100 * ranks));
    CHECK(MPI_File_read_at_all(file, 0, all.data(), 100 * ranks, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<int>(i));
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Passes MPI_BOTTOM as the buffer. It is a null pointer, and legal with a datatype that holds
/// addresses.
void memory_may_be_given_by_addresses() {
    int values[4] = {1, 2, 3, 4}, got[4] = {};
    const auto at_address = [](void* what) {
        MPI_Aint address;
        int length = 4;
        MPI_Datatype type, part = MPI_INT;
        MPI_Get_address(what, &address);
        MPI_Type_create_struct(1, &length, &address, &part, &type);
        MPI_Type_commit(&type);
        return type;
    };
    MPI_Datatype from = at_address(values), into = at_address(got);
    MPI_File file = open_scratch();
    const MPI_Offset own = 16 * rank_of_world();
    CHECK(MPI_File_write_at_all(file, own, MPI_BOTTOM, 1, from, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, own, MPI_BOTTOM, 1, into, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(std::memcmp(values, got, sizeof got) == 0);
    MPI_Type_free(&from);
    MPI_Type_free(&into);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_refused_view_leaves_the_old_one() {
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external64", MPI_INFO_NULL)) ==
          MPI_ERR_UNSUPPORTED_DATAREP);
    const GotView view(file);
    CHECK(view.displacement == 12 && view.etype == MPI_INT && view.filetype == MPI_INT);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    a_new_file_is_seen_as_bytes();
    a_strided_view_selects_the_ranks_own_data();
    memory_may_be_given_by_addresses();
    a_refused_view_leaves_the_old_one();
    const int result = verdict("bind_views");
    MPI_Finalize();
    return result;
}
