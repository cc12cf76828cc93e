// SPDX-License-Identifier: BSD-3-Clause
// The shared file pointer, ordered accesses and split collectives as the program sees them; no file
// other than the program's own appears.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "mpi/bind_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kRecords = 200;
constexpr int kRecordBytes = 100;

/// Appends records from all ranks at the shared file pointer. `gathered` is a hint: the size of the
/// write-behind buffer that gathers records.
void no_record_is_lost_or_torn(const char* gathered) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "oratorio_shared_write_behind", gathered);
    MPI_File file = open_scratch(info);
    MPI_Info_free(&info);
    const std::string mine(kRecordBytes, static_cast<char>('A' + rank_of_world()));
    for (int i = 0; i < kRecords; ++i) {
        MPI_Status status;
        int bytes = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        if (i % 8 != 0) {
            CHECK(MPI_File_write_shared(file, mine.data(), kRecordBytes, MPI_CHAR, &status) ==
                  MPI_SUCCESS);
        } else {
            CHECK(MPI_File_iwrite_shared(file, mine.data(), kRecordBytes, MPI_CHAR, &request) ==
                  MPI_SUCCESS);
            CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        }
        MPI_Get_count(&status, MPI_CHAR, &bytes);
        CHECK(bytes == kRecordBytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset position = 0;
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS);
    const MPI_Offset all = static_cast<MPI_Offset>(kRecords) * kRecordBytes * size_of_world();
    CHECK(position == all);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    // Each record is read by one of the ranks, which counts it for its writer.
    std::vector<int> found(static_cast<std::size_t>(size_of_world()));
    for (int i = 0; i < kRecords; ++i) {
        std::string record(kRecordBytes, ' ');
        CHECK(MPI_File_read_shared(file, record.data(), kRecordBytes, MPI_CHAR,
                                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(record == std::string(kRecordBytes, record[0]));
        const int from = record[0] - 'A';
        CHECK(from >= 0 && from < size_of_world());
        if (from >= 0 && from < size_of_world()) ++found[static_cast<std::size_t>(from)];
    }
    MPI_Allreduce(MPI_IN_PLACE, found.data(), size_of_world(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (const int records : found) CHECK(records == kRecords);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void ordered_data_lies_in_the_order_of_the_ranks() {
    MPI_File file = open_scratch();
    CHECK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    const std::vector<int> mine(static_cast<std::size_t>(rank_of_world()), rank_of_world());
    const int count = rank_of_world();
    const int total = size_of_world() * (size_of_world() - 1) / 2;
    CHECK(MPI_File_write_ordered(file, mine.data(), count, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_begin(file, mine.data(), count, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_end(file, mine.data(), MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Offset position = 0;
    MPI_File_get_position_shared(file, &position);
    CHECK(position == 2 * total);
    CHECK(MPI_File_seek_shared(file, -total, MPI_SEEK_END) == MPI_SUCCESS);
    std::vector<int> back(mine.size());
    MPI_Status status;
    CHECK(MPI_File_read_ordered(file, back.data(), count, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(back == mine);
    int before = 0;
    for (int rank = 0; rank < rank_of_world(); ++rank) before += rank;
    std::vector<int> there(mine.size());
    CHECK(MPI_File_read_at_all(file, total + before, there.data(), count, MPI_INT, &status) ==
          MPI_SUCCESS);
    CHECK(there == mine);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Opens one file twice. Each open has a shared file pointer of its own, and no hidden file
/// appears.
void each_opening_has_its_pointer_and_no_hidden_file() {
    const std::string name = shared_name() + "-dir";
    if (rank_of_world() == 0) std::filesystem::create_directory(name);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::string path = name + "/data";
    MPI_File first = MPI_FILE_NULL, second = MPI_FILE_NULL;
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &first) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &second) == MPI_SUCCESS);
    int value = 1;
    CHECK(MPI_File_write_shared(first, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset position = -1;
    MPI_File_get_position_shared(second, &position);
    CHECK(position == 0);
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(name))
        files += entry.exists() ? 1 : 0;
    CHECK(files == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_close(&second) == MPI_SUCCESS);
    CHECK(MPI_File_close(&first) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_world() == 0) std::filesystem::remove_all(name);
}

void a_split_collective_ends_as_it_began() {
    MPI_File file = open_scratch();
    int mine = rank_of_world(), back = -1, other = 0, count = 0;
    MPI_Status status;
    const MPI_Offset at = 4 * rank_of_world();
    CHECK(MPI_File_write_at_all_begin(file, at, &mine, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(file, at, &mine, 1, MPI_INT) != MPI_SUCCESS);
    // An end routine of another kind than the begin routine is an error, and ends the access.
    CHECK(MPI_File_read_at_all_end(file, &mine, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_end(file, &mine, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(file, at, &mine, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_all_end(file, &mine, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(file, at, &mine, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_end(file, &other, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(file, at, &mine, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_end(file, &mine, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 1);
    CHECK(MPI_File_write_at_all_end(file, &mine, &status) != MPI_SUCCESS);
    CHECK(MPI_File_seek(file, at, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_all_begin(file, &back, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_read_all_end(file, &back, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back == mine);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Returns where the file's view begins.
MPI_Offset displacement_of(MPI_File file) {
    MPI_Offset displacement = -1;
    MPI_Datatype etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
    return displacement;
}

/// Uses a file opened with MPI_MODE_SEQUENTIAL (MPI-4.1, 14.2.1). Such a file has only the shared
/// file pointer, and a view must begin at its position.
void a_sequential_file_is_a_stream() {
    const std::string name = shared_name();
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(),
                        MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    const char byte = static_cast<char>('a' + rank_of_world());
    CHECK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(displacement_of(file) == size_of_world());
    CHECK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Offset size = 0;
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native",
                            MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 2 * size_of_world());
    char last = 0;
    MPI_File_read_at(file, size_of_world() + rank_of_world(), &last, 1, MPI_CHAR,
                     MPI_STATUS_IGNORE);
    CHECK(last == byte);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/// Sets the view of a sequential file while rank 0 still writes. The view begins on all ranks after
/// that data.
void a_view_of_a_stream_begins_where_the_last_rank_left_it() {
    const std::string name = shared_name();
    const int ranks = size_of_world(), rank = rank_of_world();
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(),
                        MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    const std::string header(100, 'h');
    if (rank == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK(MPI_File_write_shared(file, header.data(), 100, MPI_CHAR, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(displacement_of(file) == 100);
    const char byte = static_cast<char>('a' + rank);
    CHECK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    // A wrong argument of one rank is an error on all ranks.
    const MPI_Offset wrong = rank == ranks - 1 ? 0 : MPI_DISPLACEMENT_CURRENT;
    CHECK(MPI_File_set_view(file, wrong, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) !=
          MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    std::string all(header.size() + static_cast<std::size_t>(ranks), ' '), expected = header;
    for (int each = 0; each < ranks; ++each) expected += static_cast<char>('a' + each);
    CHECK(MPI_File_read_at_all(file, 0, all.data(), 100 + ranks, MPI_CHAR, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(all == expected);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

void run() {
    for (const char* gathered : {"0", "10000"}) no_record_is_lost_or_torn(gathered);
    ordered_data_lies_in_the_order_of_the_ranks();
    each_opening_has_its_pointer_and_no_hidden_file();
    a_split_collective_ends_as_it_began();
    a_sequential_file_is_a_stream();
    a_view_of_a_stream_begins_where_the_last_rank_left_it();
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::test::run();
    const int result = oratorio::test::verdict("bind_shared_pointer");
    MPI_Finalize();
    return result;
}
