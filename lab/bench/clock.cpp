// SPDX-License-Identifier: BSD-3-Clause
#include "clock.hpp"

#include <malloc.h>

#include <climits>
#include <ctime>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>

namespace bench {

namespace {

/// Returns the value of `key` in /proc/self/status in bytes; 0 if there is none.
std::uint64_t status_bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
    }
    return 0;
}

/// Collective. Returns a communicator of the ranks that share this one's clock. Nodes that are
/// namespaces of one machine have one clock.
MPI_Comm sharing_a_clock(MPI_Comm comm) {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    MPI_Comm sharing;
    MPI_Comm_split(comm, static_cast<int>(std::hash<std::string>()(boot) & INT_MAX), 0, &sharing);
    return sharing;
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
    // After a failure a rank may have made fewer calls than others, so only the calls that all
    // ranks made count.
    int calls = static_cast<int>(ends_.size());
    MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_MIN, comm);
    std::vector<double> starts(starts_.begin(), starts_.begin() + calls);
    std::vector<double> ends(ends_.begin(), ends_.begin() + calls);
    MPI_Comm sharing = sharing_a_clock(comm);
    MPI_Allreduce(MPI_IN_PLACE, starts.data(), calls, MPI_DOUBLE, MPI_MIN, sharing);
    MPI_Allreduce(MPI_IN_PLACE, ends.data(), calls, MPI_DOUBLE, MPI_MAX, sharing);
    MPI_Comm_free(&sharing);
    for (std::size_t i = 0; i < starts.size(); ++i) ends[i] -= starts[i];
    MPI_Allreduce(MPI_IN_PLACE, ends.data(), calls, MPI_DOUBLE, MPI_MAX, comm);
    return std::accumulate(ends.begin(), ends.end(), 0.0);
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
