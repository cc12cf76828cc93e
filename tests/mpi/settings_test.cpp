// SPDX-License-Identifier: BSD-3-Clause
// Environment settings that only one rank has: the ranks still agree, and the data is right.
//
// usage: settings_test RANK NAME=VALUE...   (%s in a value: a folder of the test's own, with a
// folder in the place where the library looks for a file of measured costs)
#include <cstdlib>
#include <filesystem>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kPieces = 300;
constexpr int kPiece = 40;
constexpr int kMine = kPieces * kPiece;

/// Returns the rank that the launcher put into the environment, for use before MPI is initialised.
int rank_of_launcher() {
    for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
        if (const char* const rank = std::getenv(name)) return std::atoi(rank);
    return -1;
}

std::string folder_of_folders() {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("oratorio-settings-" + std::to_string(::getpid()));
    for (const char* file_system : {"UFS", "XFS", "TMPFS", "NFS"}) {
        std::filesystem::create_directories(folder / (std::string(file_system) + ".costs"));
        std::filesystem::create_directories(folder / "oratorio" /
                                            (std::string(file_system) + ".costs"));
    }
    return folder.string();
}

void set(std::string setting, const std::string& folder) {
    const std::size_t equals = setting.find('=');
    std::string value = setting.substr(equals + 1);
    if (const std::size_t at = value.find("%s"); at != std::string::npos)
        value.replace(at, 2, folder);
    ::setenv(setting.substr(0, equals).c_str(), value.c_str(), 1);
}

Bytes mine(int salt) {
    Bytes bytes(kMine);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = pattern(i * static_cast<std::size_t>(size_of_world()) +
                               static_cast<std::size_t>(rank_of_world()),
                           static_cast<std::uint64_t>(salt));
    return bytes;
}

void set_view(MPI_File file) {
    MPI_Datatype type;
    MPI_Type_vector(kPieces, kPiece, kPiece * size_of_world(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(file, rank_of_world() * kPiece, MPI_BYTE, type, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&type);
}

void everything(MPI_Comm comm) {
    const ScratchFile scratch;
    MPI_File file = open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {}, comm);
    set_view(file);
    Bytes got(kMine);
    for (int salt = 0; salt < 3; ++salt) {
        const Bytes put = mine(salt);
        CHECK(MPI_File_write_at_all(file, 0, put.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(file, 0, got.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(got == put);
    }
    const Bytes put = mine(7);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_File_iwrite_at_all(file, 0, put.data(), kMine, MPI_BYTE, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_begin(file, 0, got.data(), kMine, MPI_BYTE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(file, got.data(), MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == put);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(file, put.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered(file, got.data(), kMine, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(got == put);
    CHECK(MPI_File_set_size(file, kMine) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(size_of_file(scratch.name()) == kMine);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    const bool has_them = argc > 1 && rank_of_launcher() == std::atoi(argv[1]);
    const std::string folder = has_them ? folder_of_folders() : "";
    for (int i = 2; has_them && i < argc; ++i) set(argv[i], folder);
    MPI_Init(&argc, &argv);
    CHECK(rank_of_launcher() == rank_of_world());
    everything(MPI_COMM_WORLD);
    everything(MPI_COMM_WORLD);
    // This communicator has another rank 0, and uses nothing that is cached for MPI_COMM_WORLD.
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world(), &turned);
    everything(turned);
    MPI_Comm_free(&turned);
    if (has_them) std::filesystem::remove_all(folder);
    const int code = verdict("settings_test");
    MPI_Finalize();
    return code;
}
