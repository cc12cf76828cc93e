// SPDX-License-Identifier: BSD-3-Clause
// Memory depends on the size of the buffers, not on the access: 8 M pieces of 8 bytes, alternating
// between the ranks, are written and read collectively. No rank grows by more than three collective
// buffers (two_phase), the node's buffers (shared_buffer) or one mapping (mmap).
#include <sys/mman.h>

#include <cstring>
#include <fstream>

#include "mpi/file_support.hpp"

namespace oratorio::test {
namespace {

constexpr int kPiece = 8;
constexpr int kPieces = 8 << 20;
constexpr int kIndexedPieces = 1 << 20;
constexpr long long kCollectiveBuffer = 16 << 20;

/// Returns the peak of this process's memory (VmHWM), in bytes.
long long peak() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word == "VmHWM:") {
            long long kilobytes = 0;
            status >> kilobytes;
            return kilobytes << 10;
        }
    }
    return -1;
}

/// Resets the peak to the memory in use now.
void reset_peak() {
    std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
}

/// Returns by how many bytes `action` raises the peak.
template <class Action>
long long growth(Action action) {
    MPI_Barrier(MPI_COMM_WORLD);
    reset_peak();
    const long long before = peak();
    action();
    return peak() - before;
}

MPI_Datatype strided() {
    MPI_Datatype type;
    MPI_Type_vector(kPieces, kPiece, kPiece * size_of_world(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/// Returns a datatype of pieces at irregular distances, of which MPI and the library must keep a
/// list.
MPI_Datatype irregular() {
    std::vector<MPI_Aint> places;
    MPI_Aint at = 0;
    for (int i = 0; i < kIndexedPieces; ++i) {
        places.push_back(at);
        at += kPiece * (size_of_world() + static_cast<int>(mix(static_cast<std::uint64_t>(i)) % 3));
    }
    MPI_Datatype type;
    MPI_Type_create_hindexed_block(kIndexedPieces, kPiece, places.data(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

struct Growth {
    long long view;
    long long write;
    long long read;
};

Growth of_access(MPI_Datatype type, long long bytes, const char* method) {
    const ScratchFile scratch;
    Bytes data(static_cast<std::size_t>(bytes)), got(data.size(), 1);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<unsigned char>(i * 7 + i / 8);
    MPI_File file =
        open_file(scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, {{"oratorio_method", method}});
    Growth grown{};
    grown.view = growth([&] {
        CHECK(MPI_File_set_view(file, kPiece * rank_of_world(), MPI_BYTE, type, "native",
                                MPI_INFO_NULL) == MPI_SUCCESS);
    });
    const int count = static_cast<int>(bytes);
    grown.write = growth([&] {
        CHECK(MPI_File_write_all(file, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    });
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    grown.read = growth([&] {
        CHECK(MPI_File_read_all(file, got.data(), count, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    });
    CHECK(data == got);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    return grown;
}

void tell(const char* what, const Growth& grown) {
    long long mine[3] = {grown.view, grown.write, grown.read}, most[3];
    MPI_Allreduce(mine, most, 3, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank_of_world() == 0) {
        std::printf("%s: most growth of a rank in KiB: view %lld, write %lld, read %lld\n", what,
                    most[0] >> 10, most[1] >> 10, most[2] >> 10);
    }
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    MPI_Datatype type = strided();
    const Growth regular = of_access(type, static_cast<long long>(kPieces) * kPiece, "two_phase");
    // All ranks of the node map the same buffers of 512 KiB: per aggregator 2 slots for writes and
    // 4 for reads, and every rank is an aggregator. Each rank may need 1 MiB of its own.
    const auto shared = [](int slots) {
        return slots * (512LL << 10) * size_of_world() + (1LL << 20);
    };
    const Growth buffers =
        of_access(type, static_cast<long long>(kPieces) * kPiece, "shared_buffer");
    const long long window = (4LL << 20) + (1LL << 20);  // what mmap maps at a time, and 1 MiB
    const Growth mapped = of_access(type, static_cast<long long>(kPieces) * kPiece, "mmap");
    MPI_Type_free(&type);
    tell("8 M pieces, shared_buffer", buffers);
    tell("8 M pieces, mmap", mapped);
    CHECK(buffers.write <= shared(2));
    CHECK(buffers.read <= shared(4));
    CHECK(mapped.write <= window);
    CHECK(mapped.read <= window);
    tell("8 M pieces of a vector", regular);
    CHECK(regular.view <= 3 * kCollectiveBuffer);
    CHECK(regular.write <= 3 * kCollectiveBuffer);
    CHECK(regular.read <= 3 * kCollectiveBuffer);
    type = irregular();
    const Growth listed =
        of_access(type, static_cast<long long>(kIndexedPieces) * kPiece, "shared_buffer");
    tell("1 M pieces of a list", listed);
    CHECK(listed.write <= shared(2));
    CHECK(listed.read <= shared(4));
    MPI_Type_free(&type);
    const int code = verdict("peak_memory_test");
    MPI_Finalize();
    return code;
}
