// SPDX-License-Identifier: BSD-3-Clause
// More ranks on a node than a host MPI has message cells in shared memory. All methods move little
// data. With some methods that send messages the aggregators are late, so that all other ranks have
// sent by then and many acknowledgements are due at once. The test is a plain MPI program.
// Arguments: methods to use instead of all.
#include <algorithm>
#include <thread>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

using namespace std::chrono_literals;

constexpr int kPieces = 20;
constexpr int kPiece = 1000;

const std::vector<std::string> kOfMessages = {"two_phase", "double_buffer", "cb_cyclic"};

/// Sleeps on every (n/8)-th of n ranks. That delays the aggregators, which are spread evenly, if
/// their number divides 8.
void come_late_if_an_aggregator() {
    if (rank_of_world() % (size_of_world() / 8) == 0) std::this_thread::sleep_for(100ms);
}

void write_and_read(MPI_File file, const std::string& method, bool late) {
    const int rank = rank_of_world();
    Bytes bytes(kPieces * kPiece), got(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = pattern(i + (static_cast<std::uint64_t>(rank) << 32));
    if (late) come_late_if_an_aggregator();
    CHECK_IN(method, MPI_File_write_at_all(file, 0, bytes.data(), kPieces * kPiece, MPI_BYTE,
                                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (late) come_late_if_an_aggregator();
    CHECK_IN(method, MPI_File_read_at_all(file, 0, got.data(), kPieces * kPiece, MPI_BYTE,
                                          MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_IN(method, got == bytes);
}

/// Uses a file with a small limit on the length of messages, so that each rank sends many messages.
void use_file(const std::string& name, const std::string& method, bool late) {
    const int ranks = size_of_world();
    MPI_File file = open_file(name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                              {{"oratorio_method", method}, {"oratorio_message_bytes", "1024"}});
    MPI_Datatype type;
    MPI_Type_vector(kPieces, kPiece, kPiece * ranks, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, static_cast<MPI_Offset>(kPiece) * rank_of_world(), MPI_BYTE, type,
                      "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    write_and_read(file, method, late);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    {
        const std::vector<std::string> asked(argv + 1, argv + argc);
        const ScratchFile file;
        for (const std::string& method : asked.empty() ? kMethods : asked)
            use_file(file.name(), method,
                     std::ranges::find(kOfMessages, method) != kOfMessages.end());
    }
    const int code = verdict("many_ranks");
    MPI_Finalize();
    return code;
}
