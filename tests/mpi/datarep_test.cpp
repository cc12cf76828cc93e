// SPDX-License-Identifier: BSD-3-Clause
// Files with a data representation other than native: external32 is compared with bytes computed by
// hand; others are registered by the program.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

using Raw = std::vector<unsigned char>;

/// Collective. Returns the first bytes of the file and leaves the view set to bytes.
Raw raw(MPI_File file, int bytes) {
    Raw data(static_cast<std::size_t>(bytes), 0xee);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    return data;
}

int set_view(MPI_File file, MPI_Datatype etype, const char* representation, MPI_Offset at = 0) {
    return MPI_File_set_view(file, at, etype, etype, representation, MPI_INFO_NULL);
}

MPI_Aint extent_of(MPI_File file, MPI_Datatype type) {
    MPI_Aint extent = -1;
    return MPI_File_get_type_extent(file, type, &extent) == MPI_SUCCESS ? extent : -2;
}

void the_name_of_the_representation_is_got_back() {
    MPI_File file = open_scratch();
    for (const char* name : {"internal", "external32", "native"}) {
        CHECK(set_view(file, MPI_INT, name) == MPI_SUCCESS);
        char got[11];  // as long as the longest of the names
        MPI_Offset at;
        MPI_Datatype etype, filetype;
        CHECK(MPI_File_get_view(file, &at, &etype, &filetype, got) == MPI_SUCCESS);
        CHECK(std::strcmp(got, name) == 0);
    }
    CHECK(class_of(set_view(file, MPI_INT, "internal32")) == MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void extents_are_those_in_the_file() {
    MPI_Datatype vector;
    MPI_Type_vector(3, 1, 2, MPI_LONG, &vector);
    MPI_File file = open_scratch();
    CHECK(extent_of(file, MPI_LONG) == 8 && extent_of(file, vector) == 40);
    CHECK(set_view(file, MPI_BYTE, "internal") == MPI_SUCCESS);
    CHECK(extent_of(file, MPI_LONG) == 8 && extent_of(file, MPI_DOUBLE_INT) == 16);
    CHECK(set_view(file, MPI_BYTE, "external32") == MPI_SUCCESS);
    CHECK(extent_of(file, MPI_LONG) == 4 && extent_of(file, vector) == 20);
    CHECK(extent_of(file, MPI_WCHAR) == 2 && extent_of(file, MPI_DOUBLE_INT) == 12);
    CHECK(extent_of(file, MPI_AINT) == 8 && extent_of(file, MPI_LONG_DOUBLE) == 16);
    MPI_Type_free(&vector);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Writes and reads longs, which take four bytes each in the file. The ranks' longs alternate,
/// three at a time.
void longs_are_interleaved_in_four_bytes(bool collective) {
    const int ranks = size_of_world(), rank = rank_of_world();
    MPI_Datatype three, turns;
    MPI_Type_contiguous(3, MPI_LONG, &three);
    MPI_Type_create_resized(three, 0, 12 * ranks, &turns);
    MPI_Type_commit(&turns);
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 12 * rank, MPI_LONG, turns, "external32", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    constexpr int kCount = 6000;
    std::vector<long> out(kCount), in(kCount, 7);
    for (int i = 0; i < kCount; ++i) out[static_cast<std::size_t>(i)] = -(i * ranks + rank);
    MPI_Status status;
    const auto write = collective ? MPI_File_write_all : MPI_File_write;
    const auto read = collective ? MPI_File_read_all : MPI_File_read;
    CHECK(write(file, out.data(), kCount, MPI_LONG, &status) == MPI_SUCCESS);
    int moved = -1;
    MPI_Get_count(&status, MPI_LONG, &moved);
    CHECK(moved == kCount);
    MPI_Offset position = -1;
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == kCount);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(read(file, in.data(), kCount, MPI_LONG, &status) == MPI_SUCCESS);
    CHECK(std::equal(out.begin(), out.end(), in.begin()));
    const Raw bytes = raw(file, 4 * kCount * ranks);
    for (int i = 0; i < kCount * ranks; ++i) {
        const int turn = i / 3 / ranks, owner = i / 3 % ranks, place = 3 * turn + i % 3;
        const std::int32_t value = -(place * ranks + owner);
        const auto at = static_cast<std::size_t>(4 * i);
        const auto word = static_cast<std::uint32_t>(bytes[at] << 24 | bytes[at + 1] << 16 |
                                                     bytes[at + 2] << 8 | bytes[at + 3]);
        CHECK(static_cast<std::int32_t>(word) == value);
    }
    MPI_Type_free(&turns);
    MPI_Type_free(&three);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_struct_has_no_padding_in_the_file() {
    struct Record {
        char letter;
        double number;
        wchar_t wide;
        unsigned long natural;
    } record = {'A', -2.5, L'\u20ac', 0xfffffffe};
    const int lengths[] = {1, 1, 1, 1};
    const MPI_Aint places[] = {offsetof(Record, letter), offsetof(Record, number),
                               offsetof(Record, wide), offsetof(Record, natural)};
    const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_WCHAR, MPI_UNSIGNED_LONG};
    MPI_Datatype type;
    MPI_Type_create_struct(4, lengths, places, members, &type);
    MPI_Type_commit(&type);
    MPI_File file = open_scratch();
    CHECK(set_view(file, MPI_BYTE, "external32") == MPI_SUCCESS);
    if (rank_of_world() == 0)
        CHECK(MPI_File_write_at(file, 0, &record, 1, type, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    const Raw expected = {'A', 0xc0, 4, 0, 0, 0, 0, 0, 0, 0x20, 0xac, 0xff, 0xff, 0xff, 0xfe};
    CHECK(raw(file, 15) == expected);
    MPI_Type_free(&type);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Writes a value that does not fit the representation on one rank only. The collective call fails
/// on all ranks.
void a_value_that_does_not_fit_is_a_conversion_error_everywhere() {
    MPI_File file = open_scratch();
    CHECK(set_view(file, MPI_LONG, "external32") == MPI_SUCCESS);
    const long value = rank_of_world() == 0 ? 1L << 40 : 5;
    CHECK(class_of(MPI_File_write_at_all(file, rank_of_world(), &value, 1, MPI_LONG,
                                         MPI_STATUS_IGNORE)) == MPI_ERR_CONVERSION);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_short_file_gives_its_whole_elements() {
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_size(file, 11) == MPI_SUCCESS);
    CHECK(set_view(file, MPI_LONG, "external32") == MPI_SUCCESS);
    long values[4] = {7, 7, 7, 7};
    MPI_Status status;
    CHECK(MPI_File_read_at_all(file, 0, values, 4, MPI_LONG, &status) == MPI_SUCCESS);
    MPI_Count elements = -1;
    MPI_Get_elements_x(&status, MPI_LONG, &elements);
    CHECK(elements == 2);
    CHECK(values[0] == 0 && values[1] == 0 && values[2] == 7 && values[3] == 7);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

// A user-defined representation. In the file an int is text of eight digits, and any other item is
// one byte longer than in memory. The state holds the codes that the functions return, and the
// position and count of each conversion so far.

struct State {
    int result = MPI_SUCCESS;
    int extent_result = MPI_SUCCESS;
    std::vector<MPI_Offset> positions;
    std::vector<MPI_Count> counts;
};

int text_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
    int size = 0;
    MPI_Type_size(type, &size);
    *extent = type == MPI_INT ? 8 : size + 1;
    return static_cast<State*>(extra)->extent_result;
}

/// Returns the item at `position` in memory; the tests use ints two apart.
int& item(void* user, MPI_Datatype type, MPI_Offset position) {
    MPI_Count lower = 0, extent = 0, size = 0;
    MPI_Type_get_extent_x(type, &lower, &extent);
    MPI_Type_size_x(type, &size);
    const MPI_Count each = size / 4;
    char* base = static_cast<char*>(user) + position / each * extent + position % each * 8;
    return *reinterpret_cast<int*>(base);
}

int write_text(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
               void* extra) {
    auto* state = static_cast<State*>(extra);
    state->positions.push_back(position);
    state->counts.push_back(count);
    if (state->result != MPI_SUCCESS) return state->result;
    for (int i = 0; i < count; ++i) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%08d", item(user, type, position + i));
        std::memcpy(static_cast<char*>(file) + 8 * i, digits, 8);
    }
    return MPI_SUCCESS;
}

int read_text(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
              void* extra) {
    auto* state = static_cast<State*>(extra);
    state->positions.push_back(position);
    state->counts.push_back(count);
    if (state->result != MPI_SUCCESS) return state->result;
    for (int i = 0; i < count; ++i) {
        char digits[9] = {};
        std::memcpy(digits, static_cast<const char*>(file) + 8 * i, 8);
        item(user, type, position + i) = std::atoi(digits);
    }
    return MPI_SUCCESS;
}

State state;

void names_are_registered_once() {
    const auto add = [](const char* name) {
        return class_of(MPI_Register_datarep(name, read_text, write_text, text_extent, &state));
    };
    CHECK(add("text") == MPI_SUCCESS);
    CHECK(add("text") == MPI_ERR_DUP_DATAREP);
    for (const char* name : {"native", "internal", "external32"})
        CHECK(add(name) == MPI_ERR_DUP_DATAREP);
    CHECK(add(std::string(MPI_MAX_DATAREP_STRING, 'x').c_str()) == MPI_ERR_ARG);
    CHECK(add(std::string(MPI_MAX_DATAREP_STRING - 1, 'x').c_str()) == MPI_SUCCESS);
    CHECK(add(nullptr) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Register_datarep("no extents", read_text, write_text, nullptr, nullptr)) ==
          MPI_ERR_ARG);
}

/// Writes and reads ints that are two apart in memory. There are more ints than one call of a
/// conversion function converts, and some calls end inside a tile.
void data_is_converted_by_the_programs_functions() {
    constexpr int kItems = 3 * 500'000;
    const int rank = rank_of_world();
    MPI_Datatype three;
    MPI_Type_vector(3, 1, 2, MPI_INT, &three);
    MPI_Datatype type;
    MPI_Type_create_resized(three, 0, 24, &type);
    MPI_Type_commit(&type);
    std::vector<int> out(2 * kItems), in(2 * kItems, -1);
    for (int i = 0; i < 2 * kItems; ++i) out[static_cast<std::size_t>(i)] = i;
    MPI_File file = open_scratch();
    CHECK(set_view(file, MPI_INT, "text") == MPI_SUCCESS);
    CHECK(extent_of(file, MPI_INT) == 8 && extent_of(file, MPI_DOUBLE) == 9);
    CHECK(extent_of(file, three) == 40);
    state = {};
    const MPI_Offset own = static_cast<MPI_Offset>(rank) * kItems;
    MPI_Status status;
    CHECK(MPI_File_write_at_all(file, own, out.data(), kItems / 3, type, &status) == MPI_SUCCESS);
    int count = -1;
    MPI_Get_count(&status, type, &count);
    CHECK(count == kItems / 3);
    MPI_Count converted = 0;
    for (std::size_t i = 0; i < state.positions.size(); ++i) {
        CHECK(state.positions[i] == converted);
        converted += state.counts[i];
    }
    CHECK(converted == kItems && state.positions.size() > 1);
    CHECK(MPI_File_read_at_all(file, own, in.data(), kItems / 3, type, &status) == MPI_SUCCESS);
    for (int i = 0; i < 2 * kItems; ++i)
        CHECK(in[static_cast<std::size_t>(i)] == (i % 2 == 0 ? i : -1));
    const Raw bytes = raw(file, 24);
    CHECK(std::memcmp(bytes.data(), "000000000000000200000004", 24) == 0);
    MPI_Type_free(&type);
    MPI_Type_free(&three);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void a_function_that_fails_is_a_conversion_error_everywhere() {
    MPI_File file = open_scratch();
    CHECK(set_view(file, MPI_INT, "text") == MPI_SUCCESS);
    int values[2] = {1, 2};
    state = {};
    if (rank_of_world() == 0) state.result = MPI_ERR_OTHER;
    CHECK(class_of(MPI_File_write_at_all(file, 2 * rank_of_world(), values, 1, MPI_INT,
                                         MPI_STATUS_IGNORE)) == MPI_ERR_CONVERSION);
    state = {};
    state.extent_result = MPI_ERR_OTHER;
    MPI_Aint extent = 0;
    CHECK(class_of(MPI_File_get_type_extent(file, MPI_INT, &extent)) == MPI_ERR_CONVERSION);
    if (rank_of_world() != 0) state = {};
    CHECK(class_of(set_view(file, MPI_INT, "text")) == MPI_ERR_CONVERSION);
    state = {};
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

int memory_extent(MPI_Datatype type, MPI_Aint* extent, void*) {
    int size = 0;
    MPI_Type_size(type, &size);
    *extent = size;
    return MPI_SUCCESS;
}

void without_functions_data_is_native() {
    // A null pointer is what the macro MPI_CONVERSION_FN_NULL stands for in C.
    MPI_Datarep_conversion_function* none = nullptr;
    CHECK(MPI_Register_datarep("plain", none, none, memory_extent, nullptr) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep("other sizes", none, none, text_extent, &state) == MPI_SUCCESS);
    MPI_File file = open_scratch();
    CHECK(set_view(file, MPI_INT, "plain") == MPI_SUCCESS);
    const int value = 0x01020304;
    int got = 0;
    const int own = rank_of_world();
    CHECK(MPI_File_write_at_all(file, own, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, own, &got, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == value);
    const Raw bytes = raw(file, 4);
    CHECK(std::memcmp(bytes.data(), &value, 4) == 0);
    CHECK(set_view(file, MPI_INT, "other sizes") == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_at_all(file, own, &value, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_CONVERSION);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

std::thread::id programs_thread;
int freed = 0;
MPI_File other = MPI_FILE_NULL;

/// Counts a copy of the datatype that is freed. Uses another file, as a callback may.
int count_freed(MPI_Datatype, int, void*, void*) {
    CHECK(std::this_thread::get_id() == programs_thread);
    ++freed;
    const char byte = 'x';
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_File_iwrite_at(other, 0, &byte, 1, MPI_BYTE, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return MPI_SUCCESS;
}

/// Returns a type of two ints that are two apart, with an attribute that each copy of the type has,
/// too.
MPI_Datatype with_attribute(int* key) {
    MPI_Datatype two = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, count_freed, key, nullptr);
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 16, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&two);
    MPI_Type_set_attr(type, *key, &freed);
    return type;
}

/// Completes two nonblocking writes in one order or the other. The library's copies of their
/// datatype are freed in the program's thread, where the callbacks may use files: a helper thread
/// can't call MPI.
void copies_of_the_datatype_are_freed_in_the_programs_thread(bool last_first) {
    constexpr int kInts = 50'000;
    programs_thread = std::this_thread::get_id();
    int key = MPI_KEYVAL_INVALID;
    MPI_Datatype type = with_attribute(&key);
    std::vector<int> ints(2 * kInts, 7);
    other = open_scratch();
    MPI_File file = open_scratch();
    CHECK(set_view(file, MPI_INT, "text") == MPI_SUCCESS);
    state = {};
    freed = 0;
    MPI_Request requests[2];
    const MPI_Offset own = static_cast<MPI_Offset>(2) * kInts * rank_of_world();
    for (int i = 0; i < 2; ++i)
        CHECK(MPI_File_iwrite_at(file, own + static_cast<MPI_Offset>(i) * kInts, ints.data(),
                                 kInts / 2, type, &requests[i]) == MPI_SUCCESS);
    const int first = last_first ? 1 : 0;
    CHECK(MPI_Wait(&requests[first], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    // The helper thread sees now that the access is done.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(MPI_Wait(&requests[1 - first], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(freed == 2);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&key);
    CHECK(MPI_File_close(&other) == MPI_SUCCESS);
}

MPI_File used = MPI_FILE_NULL;
std::vector<int> used_codes;  ///< what the calls of copy_and_ask() on `used` returned

/// Copies ints. Queries their extent in the file that is being accessed; the standard allows this,
/// because it forbids only collective calls.
int copy_and_ask(void* user, MPI_Datatype, int count, void* file, MPI_Offset position, void*) {
    MPI_Aint extent = 0;
    used_codes.push_back(class_of(MPI_File_get_type_extent(used, MPI_INT, &extent)));
    std::memcpy(file, static_cast<int*>(user) + position,
                sizeof(int) * static_cast<std::size_t>(count));
    return MPI_SUCCESS;
}

int handled_errors = 0;

void count_error(MPI_File* file, int*, ...) {
    ++handled_errors;
    MPI_Offset size = 0;
    MPI_File_get_size(*file, &size);
}

/// Uses a file from within a call on it. The inner call fails and doesn't hang.
void a_function_that_uses_the_file_gets_an_error() {
    MPI_Datarep_conversion_function* none = nullptr;
    CHECK(MPI_Register_datarep("asking", none, copy_and_ask, memory_extent, nullptr) ==
          MPI_SUCCESS);
    used = open_scratch();
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_File_create_errhandler(count_error, &handler);
    MPI_File_set_errhandler(used, handler);
    MPI_Errhandler_free(&handler);
    CHECK(set_view(used, MPI_INT, "asking") == MPI_SUCCESS);
    const int values[] = {rank_of_world(), 7};
    const MPI_Offset own = 2 * rank_of_world();
    CHECK(MPI_File_write_at(used, own, values, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(used, own, values, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(used_codes == std::vector<int>(2, MPI_ERR_OTHER));
    CHECK(handled_errors == 0);
    MPI_Aint extent = 0;
    CHECK(MPI_File_get_type_extent(used, MPI_INT, &extent) == MPI_SUCCESS && extent == 4);
    CHECK(MPI_File_close(&used) == MPI_SUCCESS);
}

/// Sets a view with a representation that only one rank has registered. The call fails on all
/// ranks.
void a_name_that_a_rank_does_not_know_is_refused_on_all() {
    if (rank_of_world() == 0)
        CHECK(MPI_Register_datarep("mine", read_text, write_text, text_extent, &state) ==
              MPI_SUCCESS);
    MPI_File file = open_scratch();
    const int code = set_view(file, MPI_INT, "mine");
    CHECK(size_of_world() == 1 ? code == MPI_SUCCESS
                               : class_of(code) == MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    using namespace oratorio::test;
    the_name_of_the_representation_is_got_back();
    extents_are_those_in_the_file();
    longs_are_interleaved_in_four_bytes(true);
    longs_are_interleaved_in_four_bytes(false);
    a_struct_has_no_padding_in_the_file();
    a_value_that_does_not_fit_is_a_conversion_error_everywhere();
    a_short_file_gives_its_whole_elements();
    names_are_registered_once();
    data_is_converted_by_the_programs_functions();
    a_function_that_fails_is_a_conversion_error_everywhere();
    without_functions_data_is_native();
    copies_of_the_datatype_are_freed_in_the_programs_thread(false);
    copies_of_the_datatype_are_freed_in_the_programs_thread(true);
    a_function_that_uses_the_file_gets_an_error();
    a_name_that_a_rank_does_not_know_is_refused_on_all();
    const int result = verdict("datarep");
    MPI_Finalize();
    return result;
}
