// SPDX-License-Identifier: BSD-3-Clause
#include "clock.hpp"

#include <malloc.h>

#include <ctime>
#include <fstream>
#include <string>

namespace bench {

namespace {

/// A value in bytes of /proc/self/status, 0 where the system has none.
std::uint64_t status_bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
    }
    return 0;
}

}  // namespace

int nodes_of(MPI_Comm comm) {
    MPI_Comm node;
    int here = 0;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &here);
    MPI_Comm_free(&node);
    int nodes = here == 0 ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, comm);
    return nodes;
}

double node_clock() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double CallTimes::total(MPI_Comm comm) const {
    // A failure may keep a rank from calls that others make.
    int calls = static_cast<int>(ends_.size());
    MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_MIN, comm);
    const bool one_node = nodes_of(comm) == 1;
    std::vector<double> starts(starts_.begin(), starts_.begin() + calls);
    std::vector<double> ends(ends_.begin(), ends_.begin() + calls);
    if (!one_node) {
        for (std::size_t i = 0; i < starts.size(); ++i) {
            ends[i] -= starts[i];
            starts[i] = 0;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, starts.data(), calls, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(MPI_IN_PLACE, ends.data(), calls, MPI_DOUBLE, MPI_MAX, comm);
    double seconds = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) seconds += ends[i] - starts[i];
    return seconds;
}

PeakMemory::PeakMemory() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;  // sets the peak to the present use
    at_start_ = status_bytes("VmRSS");
}

std::uint64_t PeakMemory::grown() const {
    const std::uint64_t peak = status_bytes("VmHWM");
    return peak > at_start_ ? peak - at_start_ : 0;
}

}  // namespace bench
