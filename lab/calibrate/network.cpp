// SPDX-License-Identifier: BSD-3-Clause
#include "network.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bind/host_routine.hpp"
#include "plan/options.hpp"
#include "timing.hpp"

namespace oratorio::calibrate {

namespace {

constexpr int kTurns = 500;
constexpr int kSmall = 8;
constexpr int kSmallUnderWay = 64;

int rank_in(MPI_Comm comm) {
    int rank = 0;
    ORATORIO_HOST(MPI_Comm_rank)(comm, &rank);
    return rank;
}

/// Collective over `pair`. Rank 1 sends `count` messages of `bytes` bytes to rank 0, `under_way` at
/// a time. Returns the time until the last one has arrived.
Nanoseconds receive_many(MPI_Comm pair, int count, int bytes, int under_way) {
    const bool sends = rank_in(pair) == 1;
    std::vector<std::vector<char>> buffers(static_cast<std::size_t>(under_way),
                                           std::vector<char>(static_cast<std::size_t>(bytes)));
    std::vector<MPI_Request> requests(buffers.size(), MPI_REQUEST_NULL);
    ORATORIO_HOST(MPI_Barrier)(pair);
    const Stopwatch watch;
    for (int at = 0; at < count; ++at) {
        const auto slot = static_cast<std::size_t>(at % under_way);
        ORATORIO_HOST(MPI_Wait)(&requests[slot], MPI_STATUS_IGNORE);
        if (sends) {
            ORATORIO_HOST(MPI_Isend)
            (buffers[slot].data(), bytes, MPI_BYTE, 0, 0, pair, &requests[slot]);
        } else {
            ORATORIO_HOST(MPI_Irecv)
            (buffers[slot].data(), bytes, MPI_BYTE, 1, 0, pair, &requests[slot]);
        }
    }
    ORATORIO_HOST(MPI_Waitall)(under_way, requests.data(), MPI_STATUSES_IGNORE);
    return watch.elapsed();
}

/// Collective over `pair`. Prints the median time of `run` on rank 0. A first pass isn't counted.
template <class Run>
void tell_median(MPI_Comm pair, const char* name, int repeats, Run run) {
    std::vector<Nanoseconds> times;
    for (int pass = 0; pass <= repeats; ++pass) {
        const Nanoseconds time = run();
        if (pass > 0) times.push_back(time);
    }
    if (rank_in(pair) == 0)
        std::printf("measured\t%s\t%.6g\n", name, std::max(median(times), kLeastCost));
}

}  // namespace

void measure_message(MPI_Comm pair, const char* name, int repeats) {
    const int rank = rank_in(pair);
    char data[kSmall] = {};
    const auto send = [&] { ORATORIO_HOST(MPI_Send)(data, kSmall, MPI_BYTE, 1 - rank, 0, pair); };
    const auto receive = [&] {
        ORATORIO_HOST(MPI_Recv)(data, kSmall, MPI_BYTE, 1 - rank, 0, pair, MPI_STATUS_IGNORE);
    };
    tell_median(pair, name, repeats, [&] {
        ORATORIO_HOST(MPI_Barrier)(pair);
        const Stopwatch watch;
        for (int turn = 0; turn < kTurns; ++turn) {
            if (rank == 0) send();
            receive();
            if (rank == 1) send();
        }
        return watch.elapsed() / (2.0 * kTurns);
    });
}

void measure_stream(MPI_Comm pair, const char* name, Bytes bytes, int repeats) {
    const PlanOptions options;
    const auto large = static_cast<int>(options.message_bytes);
    const int count = static_cast<int>(std::max<Bytes>(1, bytes / large));
    tell_median(pair, name, repeats, [&] {
        return receive_many(pair, count, large, options.messages_in_flight) / count / large;
    });
    constexpr int kMany = kTurns * kSmallUnderWay / 4;
    tell_median(pair, "endpoint_message", repeats,
                [&] { return receive_many(pair, kMany, kSmall, kSmallUnderWay) / kMany; });
}

bool on_one_machine(MPI_Comm pair) {
    constexpr int kLength = 40;
    std::string mine;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> mine;
    mine.resize(kLength);
    std::string other(kLength, '\0');
    const int partner = 1 - rank_in(pair);
    ORATORIO_HOST(MPI_Sendrecv)
    (mine.data(), kLength, MPI_CHAR, partner, 0, other.data(), kLength, MPI_CHAR, partner, 0, pair,
     MPI_STATUS_IGNORE);
    return mine == other && mine.front() != '\0';
}

void wait_asleep(MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    ORATORIO_HOST(MPI_Ibarrier)(comm, &request);
    for (int done = 0; done == 0;) {
        ORATORIO_HOST(MPI_Test)(&request, &done, MPI_STATUS_IGNORE);
        if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace oratorio::calibrate
