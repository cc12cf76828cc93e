// SPDX-License-Identifier: BSD-3-Clause
#include "posix_pass.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "clock.hpp"

namespace bench {

bool all_agree(bool well, MPI_Comm comm) {
    int all = well ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, comm);
    return all != 0;
}

Sample measure_posix(const PosixPass& pass, MPI_Comm comm, const std::function<bool(int)>& move) {
    Sample sample;
    const bool write = pass.direction == Direction::write;
    const int flags =
        (write ? O_RDWR | O_CREAT : O_RDONLY) | (pass.direct ? O_DIRECT : 0) | O_CLOEXEC;
    MPI_Barrier(comm);
    const double start = node_clock();
    const int fd = open(pass.path.c_str(), flags, 0644);
    if (fd < 0) sample.error = std::string("open: ") + std::strerror(errno);
    sample.open_s = node_clock() - start;
    if (all_agree(fd >= 0, comm)) {
        const PeakMemory memory;
        CallTimes times;
        MPI_Barrier(comm);
        times.start();
        bool moved = move(fd);
        if (write && pass.sync) moved = fsync(fd) == 0 && moved;
        times.stop();
        if (!moved) sample.error = std::string("transfer: ") + std::strerror(errno);
        sample.call_peak = sample.total_peak = memory.grown();
        sample.call_s = times.total(comm);
    }
    const double end = node_clock();
    if (fd >= 0) close(fd);
    sample.close_s = node_clock() - end;
    return sample;
}

}  // namespace bench
