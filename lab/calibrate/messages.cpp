// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of packing data, sending it by the MPI's messages and placing it, and the cost
// of messages within a node and between nodes (network.cpp). This file is compiled once per
// flavour, into the flavour's library.
// Rank 0 measures with another rank of its node and with a rank of another node, if they exist; all
// other ranks sleep. The two ranks that exchange data take turns instead of overlapping, so
// that the time is that of one core.
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "bind/host_routine.hpp"
#include "commands.hpp"
#include "exchange/messages/payload_copy.hpp"
#include "latencies.hpp"
#include "layouts.hpp"
#include "network.hpp"
#include "plan/options.hpp"
#include "timing.hpp"
#include "type/copy.hpp"
#include "type/run_table.hpp"

namespace oratorio::calibrate {
namespace {

constexpr Bytes kLong = 1024;
constexpr Bytes kShort = 16;
constexpr std::size_t kHead = sizeof(std::uint64_t);
constexpr int kDataTag = 1;
constexpr int kPlacedTag = 2;

/// The layouts of data in memory and in the file, which have the same number of pieces. Half of the
/// span of either is data.
struct Data {
    Layout memory;
    Layout file;
};

/// Packs a message: descriptions of pieces of the file in its table, and after them the pieces'
/// data, as much as fits. Returns the message's size in bytes.
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
    // place_runs fails only for a damaged message, and these processes made the message.
    if (!placed) ORATORIO_HOST(MPI_Abort)(MPI_COMM_WORLD, 1);
}

/// Sends message after message. The receiver answers each once it has placed the data, so that both
/// ranks take turns.
void send_all(MPI_Comm pair, const Data& data, std::span<std::byte> user,
              std::span<std::byte> message) {
    Cursor file(data.file);
    Cursor memory(data.memory);
    while (!file.at_end()) {
        const Offset origin = file.tell_offset();
        const std::size_t bytes = pack(file, memory, user.data(), message, origin);
        MPI_Request request = MPI_REQUEST_NULL;
        ORATORIO_HOST(MPI_Issend)
        (message.data(), static_cast<int>(bytes), MPI_BYTE, 1, kDataTag, pair, &request);
        ORATORIO_HOST(MPI_Wait)(&request, MPI_STATUS_IGNORE);
        ORATORIO_HOST(MPI_Recv)(nullptr, 0, MPI_BYTE, 1, kPlacedTag, pair, MPI_STATUS_IGNORE);
    }
}

/// Receives and places the messages. Finds where a message begins while the other rank packs it.
void receive_all(MPI_Comm pair, const Data& data, std::span<std::byte> buffer,
                 std::span<std::byte> message) {
    Bytes taken = 0;
    Cursor file(data.file);
    while (taken < data.file.size()) {
        file.seek_size(taken);
        const Offset origin = file.tell_offset();
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;
        ORATORIO_HOST(MPI_Irecv)
        (message.data(), static_cast<int>(message.size()), MPI_BYTE, 0, kDataTag, pair, &request);
        ORATORIO_HOST(MPI_Wait)(&request, &status);
        int bytes = 0;
        ORATORIO_HOST(MPI_Get_count)(&status, MPI_BYTE, &bytes);
        const auto received = std::span(message).first(static_cast<std::size_t>(bytes));
        place(received, origin, buffer);
        std::uint64_t table_bytes = 0;
        std::memcpy(&table_bytes, received.data(), kHead);
        taken += bytes - static_cast<Bytes>(kHead + table_bytes);
        ORATORIO_HOST(MPI_Send)(nullptr, 0, MPI_BYTE, 0, kPlacedTag, pair);
    }
}

void measure_data(MPI_Comm pair, Bytes bytes, int repeats) {
    int rank = 0;
    ORATORIO_HOST(MPI_Comm_rank)(pair, &rank);
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
            ORATORIO_HOST(MPI_Barrier)(pair);
            const Stopwatch watch;
            if (rank == 0) {
                send_all(pair, all[i], area, message);
            } else {
                receive_all(pair, all[i], area, message);
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

/// The partners with which rank 0 measures: the lowest other rank on its node, and the lowest rank
/// on another node. A partner is -1 if there is none.
struct Partners {
    int near = -1;
    int far = -1;
};

/// Collective. Returns the partners of rank 0 on all ranks.
Partners find_partners() {
    MPI_Comm node = MPI_COMM_NULL;
    ORATORIO_HOST(MPI_Comm_split_type)
    (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int leader = 0, ranks = 0;
    ORATORIO_HOST(MPI_Comm_rank)(MPI_COMM_WORLD, &leader);
    ORATORIO_HOST(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
    ORATORIO_HOST(MPI_Bcast)(&leader, 1, MPI_INT, 0, node);
    ORATORIO_HOST(MPI_Comm_free)(&node);
    std::vector<int> leaders(static_cast<std::size_t>(ranks));
    ORATORIO_HOST(MPI_Allgather)(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, MPI_COMM_WORLD);
    Partners found;
    for (int rank = ranks - 1; rank > 0; --rank)
        (leaders[static_cast<std::size_t>(rank)] == leaders[0] ? found.near : found.far) = rank;
    return found;
}

void keep(std::initializer_list<const char*> names, const char* reason) {
    for (const char* name : names) std::printf("kept\t%s\t%s\n", name, reason);
}

/// Collective. Runs `measure` on a communicator of rank 0 and `partner`.
void with_pair(int partner, const std::function<void(MPI_Comm)>& measure) {
    int rank = 0;
    ORATORIO_HOST(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    const bool mine = rank == 0 || rank == partner;
    MPI_Comm pair = MPI_COMM_NULL;
    ORATORIO_HOST(MPI_Comm_split)(MPI_COMM_WORLD, mine ? 0 : MPI_UNDEFINED, rank, &pair);
    if (mine) measure(pair);
    if (mine) ORATORIO_HOST(MPI_Comm_free)(&pair);
    wait_asleep(MPI_COMM_WORLD);
}

/// Collective. Measures the costs for which rank 0 has a partner.
void measure_all(Bytes bytes, int repeats) {
    int rank = 0;
    ORATORIO_HOST(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    const Partners partners = find_partners();
    if (partners.near > 0) {
        with_pair(partners.near, [&](MPI_Comm pair) {
            measure_data(pair, bytes, repeats);
            measure_message(pair, "message", repeats);
        });
    } else if (rank == 0) {
        keep({"message_byte", "message_piece", "message"}, "no other rank is on rank 0's node");
    }
    if (partners.far > 0) {
        with_pair(partners.far, [&](MPI_Comm pair) {
            const bool beside = on_one_machine(pair);
            measure_message(pair, beside ? "beside_message" : "far_message", repeats);
            measure_stream(pair, beside ? "beside_byte" : "far_byte", bytes, repeats);
            if (rank != 0) return;
            if (beside) keep({"far_message", "far_byte"}, "the nodes are on one machine");
            if (!beside)
                keep({"beside_message", "beside_byte"}, "each node is a machine of its own");
        });
    } else if (rank == 0) {
        keep({"far_message", "far_byte", "beside_message", "beside_byte", "endpoint_message"},
             "all ranks are on one node; oratorio calibrate mpiexec ... measures between nodes");
    }
}

}  // namespace
}  // namespace oratorio::calibrate

/// Runs a command of commands.hpp. Returns 0, or another exit code after a message on stderr.
extern "C" __attribute__((visibility("default"))) int oratorio_calibrate(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    const bool sends = words.size() == 3 && words[0] == "messages";
    const bool sends_to_all = words.size() == 2 && words[0] == "latencies";
    if (!sends && !sends_to_all) return oratorio::calibrate::run_command(words);
    int ranks = 0;
    ORATORIO_HOST(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        std::fputs("at least two ranks are needed\n", stderr);
        return 2;
    }
    if (sends) oratorio::calibrate::measure_all(std::stoll(words[1]), std::stoi(words[2]));
    if (sends_to_all) oratorio::calibrate::measure_latencies(std::stoi(words[1]));
    return 0;
}
