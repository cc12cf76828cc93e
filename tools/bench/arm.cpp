#include "arm.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

#include "pattern.hpp"

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

std::uint64_t peak_resident() {
    return status_bytes("VmHWM");
}

/// Gives free memory back, so that it counts again when it is taken, sets the peak to the present
/// use, and returns that.
std::uint64_t reset_peak() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;
    return status_bytes("VmRSS");
}

/// Seconds by a clock that all processes of a node share; MPI_Wtime may have an origin per rank.
double node_clock() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::uint64_t grown(std::uint64_t from, std::uint64_t to) {
    return to > from ? to - from : 0;
}

std::string error_text(const char* call, int code) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length));
}

void note(Sample& sample, const std::string& error) {
    if (sample.error.empty()) sample.error = error;
}

bool all_well(const Sample& sample, MPI_Comm comm) {
    int well = sample.error.empty() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &well, 1, MPI_INT, MPI_LAND, comm);
    return well != 0;
}

std::string hint_given_back(MPI_File file) {
    MPI_Info info = MPI_INFO_NULL;
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    if (MPI_File_get_info(file, &info) != MPI_SUCCESS || info == MPI_INFO_NULL) return {};
    MPI_Info_get(info, "oratorio_method", MPI_MAX_INFO_VAL, value.data(), &found);
    MPI_Info_free(&info);
    return found != 0 ? value.data() : "";
}

MPI_File open_with_view(const Arm& arm, Direction direction, const std::string& path,
                        const Access& access, const Types& types, MPI_Comm comm, Sample& sample) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "oratorio_method", arm.method().c_str());
    for (const auto& [key, value] : arm.hints) MPI_Info_set(info, key.c_str(), value.c_str());
    const int mode =
        direction == Direction::write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;

    MPI_Barrier(comm);
    const double start = node_clock();
    MPI_File file = MPI_FILE_NULL;
    note(sample, error_text("MPI_File_open", MPI_File_open(comm, path.c_str(), mode, info, &file)));
    if (all_well(sample, comm)) {
        const int code =
            MPI_File_set_view(file, access.displacement, types.etype, types.file, "native", info);
        note(sample, error_text("MPI_File_set_view", code));
    }
    sample.open_s = node_clock() - start;
    MPI_Info_free(&info);
    return file;
}

void call(Direction direction, MPI_File file, const Types& types, bool sync,
          std::vector<std::byte>& buffer, MPI_Comm comm, Sample& sample) {
    const std::uint64_t resident = reset_peak();
    MPI_Status status;
    MPI_Barrier(comm);
    sample.call_start = node_clock();
    if (direction == Direction::write) {
        note(sample,
             error_text("MPI_File_write_at_all",
                        MPI_File_write_at_all(file, 0, buffer.data(), 1, types.memory, &status)));
        if (sync) note(sample, error_text("MPI_File_sync", MPI_File_sync(file)));
    } else {
        note(sample,
             error_text("MPI_File_read_at_all",
                        MPI_File_read_at_all(file, 0, buffer.data(), 1, types.memory, &status)));
    }
    sample.call_s = node_clock() - sample.call_start;
    sample.call_peak = grown(resident, peak_resident());
    if (!sample.error.empty()) return;
    MPI_Count asked = 0, moved = 0;
    MPI_Type_size_x(types.memory, &asked);
    MPI_Get_elements_x(&status, MPI_BYTE, &moved);
    sample.counted = asked == moved;
}

Sample run_mpi(const Arm& arm, Direction direction, const std::string& path, const Access& access,
               bool sync, std::vector<std::byte>& buffer, MPI_Comm comm) {
    Sample sample;
    // New types for each pass: an MPI-IO that keeps what it worked out with the type pays for it
    // in every pass, in time and in memory.
    Types types = access.make_types();
    const std::uint64_t resident = reset_peak();
    MPI_File file = open_with_view(arm, direction, path, access, types, comm, sample);
    const std::uint64_t open_peak = grown(resident, peak_resident());
    if (all_well(sample, comm)) {
        call(direction, file, types, sync, buffer, comm, sample);
        sample.total_peak = std::max(open_peak, grown(resident, peak_resident()));
        sample.served_as = hint_given_back(file);
    }
    if (file != MPI_FILE_NULL) {
        const double start = node_clock();
        note(sample, error_text("MPI_File_close", MPI_File_close(&file)));
        sample.close_s = node_clock() - start;
    }
    MPI_Type_free(&types.file);
    MPI_Type_free(&types.memory);
    return sample;
}

/// The same number of bytes per rank, contiguous, in rank order. The access is one piece.
Sample run_raw(Direction direction, const std::string& path, const Access& access, bool sync,
               std::vector<std::byte>& buffer, MPI_Comm comm) {
    Sample sample;
    Piece piece{0, 0, 0};
    access.for_each_piece([&](const Piece& only) { piece = only; });
    const bool write = direction == Direction::write;
    const std::uint64_t resident = reset_peak();
    MPI_Barrier(comm);
    double start = node_clock();
    const int fd = open(path.c_str(), (write ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0644);
    if (fd < 0) note(sample, std::string("open: ") + std::strerror(errno));
    sample.open_s = node_clock() - start;
    if (!all_well(sample, comm)) {
        if (fd >= 0) close(fd);
        return sample;
    }
    MPI_Barrier(comm);
    sample.call_start = node_clock();
    const bool moved = write ? pwrite_all(fd, buffer.data(), piece.bytes, piece.file)
                             : pread_all(fd, buffer.data(), piece.bytes, piece.file);
    const bool synced = !write || !sync || fsync(fd) == 0;
    sample.call_s = node_clock() - sample.call_start;
    if (!moved || !synced) note(sample, std::string("raw transfer: ") + std::strerror(errno));
    sample.call_peak = sample.total_peak = grown(resident, peak_resident());
    start = node_clock();
    close(fd);
    sample.close_s = node_clock() - start;
    return sample;
}

bool is_one_node(MPI_Comm comm) {
    MPI_Comm node;
    int node_ranks = 0, ranks = 0;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_ranks);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_free(&node);
    return node_ranks == ranks;
}

void agree_times(Sample& sample, MPI_Comm comm) {
    std::array<double, 4> times{sample.open_s, sample.call_s, sample.close_s,
                                sample.call_start + sample.call_s};
    MPI_Allreduce(MPI_IN_PLACE, times.data(), 4, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, &sample.call_start, 1, MPI_DOUBLE, MPI_MIN, comm);
    sample.open_s = times[0];
    sample.call_s = is_one_node(comm) ? times[3] - sample.call_start : times[1];
    sample.close_s = times[2];
}

/// Makes the sample the same on all ranks, with the error of the lowest rank that has one.
void agree(Sample& sample, MPI_Comm comm) {
    agree_times(sample, comm);
    std::array<std::uint64_t, 3> peaks{sample.call_peak, sample.total_peak,
                                       sample.counted ? 0U : 1U};
    MPI_Allreduce(MPI_IN_PLACE, peaks.data(), 3, MPI_UINT64_T, MPI_MAX, comm);
    sample.call_peak = peaks[0];
    sample.total_peak = peaks[1];
    sample.counted = peaks[2] == 0;

    int rank = 0, ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int teller = sample.error.empty() ? ranks : rank;
    MPI_Allreduce(MPI_IN_PLACE, &teller, 1, MPI_INT, MPI_MIN, comm);
    if (teller == ranks) return;
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), "rank %d: %s", teller, sample.error.c_str());
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, teller, comm);
    sample.error = text.data();
}

}  // namespace

Sample run_pass(const Arm& arm, Direction direction, const std::string& path, const Access& access,
                bool sync, std::vector<std::byte>& buffer, MPI_Comm comm) {
    Sample sample = arm.raw() ? run_raw(direction, path, access, sync, buffer, comm)
                              : run_mpi(arm, direction, path, access, sync, buffer, comm);
    agree(sample, comm);
    return sample;
}

}  // namespace bench
