// SPDX-License-Identifier: BSD-3-Clause
// messages: what it costs to pack data, to send it by the MPI's messages, and to place it.
// usage: mpiexec -n 2 messages BYTES REPEATS    prints "measured NAME NANOSECONDS" lines.
// The two ranks take turns instead of overlapping, so that the time is that of one core.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "exchange/placement.hpp"
#include "exchange/run_table.hpp"
#include "layouts.hpp"
#include "plan/options.hpp"
#include "timing.hpp"
#include "type/copy.hpp"

namespace oratorio::calibrate {
namespace {

constexpr Bytes kLong = 1024;
constexpr Bytes kShort = 16;
constexpr std::size_t kHead = sizeof(std::uint64_t);
constexpr int kDataTag = 1;
constexpr int kPlacedTag = 2;

/// Data with as many pieces in memory as in the file; half of both is data.
struct Data {
    Layout memory;
    Layout file;
};

/// Pieces of the file to the table, data behind it, as much as a message takes. The message's
/// bytes.
std::size_t pack(Cursor& file, Cursor& memory, const std::byte* user, std::span<std::byte> message,
                 Offset origin) {
    const auto room = static_cast<Bytes>(message.size() - kHead);
    RunTableWriter table(message.subspan(kHead), origin);
    Bytes payload = 0;
    for (;;) {
        const Bytes left = room - payload - static_cast<Bytes>(table.bytes()) -
                           static_cast<Bytes>(RunTableWriter::run_bytes_max);
        const StridedRun run = left > 0 ? file.next(left) : StridedRun{};
        if (run.count == 0) break;
        table.add(run);
        payload += run.bytes();
    }
    const std::uint64_t table_bytes = table.bytes();
    std::memcpy(message.data(), &table_bytes, kHead);
    const std::size_t begin = kHead + table.bytes();
    gather_bytes(memory, user, message.subspan(begin, static_cast<std::size_t>(payload)));
    return begin + static_cast<std::size_t>(payload);
}

void place(std::span<const std::byte> message, Offset origin, std::span<std::byte> buffer) {
    std::uint64_t table_bytes = 0;
    std::memcpy(&table_bytes, message.data(), kHead);
    const Bytes length = std::ssize(buffer);
    const Region region{origin, length, length, 1, {origin, origin + length}};
    const bool placed =
        place_runs(message.subspan(kHead, table_bytes), message.subspan(kHead + table_bytes),
                   region, RoundBuffer{buffer, {}});
    if (!placed) MPI_Abort(MPI_COMM_WORLD, 1);  // the messages are our own
}

/// One turn of both ranks: message after message, each answered once it has been placed.
void send_all(const Data& data, std::span<std::byte> user, std::span<std::byte> message) {
    Cursor file(data.file);
    Cursor memory(data.memory);
    while (!file.at_end()) {
        const Offset origin = file.tell_offset();
        const std::size_t bytes = pack(file, memory, user.data(), message, origin);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Issend(message.data(), static_cast<int>(bytes), MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD,
                   &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, kPlacedTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/// Finds where a message begins while the other rank packs it.
void receive_all(const Data& data, std::span<std::byte> buffer, std::span<std::byte> message) {
    Bytes taken = 0;
    Cursor file(data.file);
    while (taken < data.file.size()) {
        file.seek_size(taken);
        const Offset origin = file.tell_offset();
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;
        MPI_Irecv(message.data(), static_cast<int>(message.size()), MPI_BYTE, 0, kDataTag,
                  MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        const auto received = std::span(message).first(static_cast<std::size_t>(bytes));
        place(received, origin, buffer);
        std::uint64_t table_bytes = 0;
        std::memcpy(&table_bytes, received.data(), kHead);
        taken += bytes - static_cast<Bytes>(kHead + table_bytes);
        MPI_Send(nullptr, 0, MPI_BYTE, 0, kPlacedTag, MPI_COMM_WORLD);
    }
}

void measure(int rank, Bytes bytes, int repeats) {
    const std::array<Data, 3> all{
        Data{strided(kLong, 2 * kLong, 2 * bytes), strided(kLong, 2 * kLong, 2 * bytes)},
        Data{strided(kShort, 2 * kShort, 2 * bytes), strided(kShort, 2 * kShort, 2 * bytes)},
        Data{strided(kShort, 2 * kShort, 2 * bytes), listed(kShort, 2 * bytes)}};
    const PlanOptions options;
    std::vector<std::byte> message(static_cast<std::size_t>(options.message_bytes));
    const Bytes memory = rank == 0 ? 2 * bytes : options.cb_buffer_size;
    std::vector<std::byte> area(static_cast<std::size_t>(memory), std::byte{1});
    std::array<std::vector<Nanoseconds>, 3> times;
    for (int pass = 0; pass <= repeats; ++pass) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            const Stopwatch watch;
            if (rank == 0) {
                send_all(all[i], area, message);
            } else {
                receive_all(all[i], area, message);
            }
            if (pass > 0) times[i].push_back(watch.elapsed());
        }
    }
    if (rank != 0) return;
    const auto data = static_cast<double>(bytes);
    const Nanoseconds short_pieces = (median(times[1]) + median(times[2])) / 2;
    const Line line =
        fit(data, median(times[0]), 2 * data / kLong, short_pieces, 2 * data / kShort);
    std::printf("measured\tmessage_byte\t%.6g\nmeasured\tmessage_piece\t%.6g\n",
                std::max(line.byte, kLeastCost), std::max(line.piece, kLeastCost));
}

}  // namespace
}  // namespace oratorio::calibrate

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bool right = argc == 3 && ranks == 2;
    if (right) oratorio::calibrate::measure(rank, std::atoll(argv[1]), std::atoi(argv[2]));
    if (!right && rank == 0) std::fputs("usage: mpiexec -n 2 messages BYTES REPEATS\n", stderr);
    MPI_Finalize();
    return right ? 0 : 2;
}
