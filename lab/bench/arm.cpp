// SPDX-License-Identifier: BSD-3-Clause
#include "arm.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "account.hpp"
#include "bare.hpp"
#include "by_hand.hpp"
#include "clock.hpp"
#include "posix_pass.hpp"

namespace bench {

namespace {

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
    return all_agree(sample.error.empty(), comm);
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

/// Measures one pass of an arm that uses an MPI-IO.
class MpiPass {
  public:
    MpiPass(const Arm& arm, Direction direction, const Access& access, bool sync, Buffer& buffer,
            MPI_Comm comm)
        : write_(direction == Direction::write),
          access_(access),
          sync_(sync),
          buffer_(buffer),
          comm_(comm) {
        MPI_Info_create(&info_);
        MPI_Info_set(info_, "oratorio_method", arm.method().c_str());
        for (const auto& [key, value] : arm.hints) MPI_Info_set(info_, key.c_str(), value.c_str());
        // Each pass creates new types, so the time and memory of an MPI-IO that derives data from a
        // type and caches it count in every pass.
        for (const Call& call : access.calls) types_.push_back(call.make_types());
    }
    MpiPass(const MpiPass&) = delete;
    MpiPass& operator=(const MpiPass&) = delete;
    ~MpiPass() {
        for (Types& types : types_) {
            MPI_Type_free(&types.file);
            MPI_Type_free(&types.memory);
        }
        MPI_Info_free(&info_);
    }

    Sample run(const std::string& path) {
        const PeakMemory with_open;
        const Account account;
        open(path);
        std::uint64_t open_peak = 0;
        for (std::size_t i = 0; i < types_.size() && all_well(sample_, comm_); ++i) {
            set_view(access_.calls[i], types_[i]);
            if (i == 0) {
                open_peak = with_open.grown();
                calls_memory_.emplace();
            }
            if (all_well(sample_, comm_)) make_calls(access_.calls[i], types_[i]);
        }
        sample_.call_peak = calls_memory_ ? calls_memory_->grown() : 0;
        sample_.total_peak = std::max(open_peak, with_open.grown());
        sample_.call_s = times_.total(comm_);
        close();
        sample_.account = account.text();
        return sample_;
    }

  private:
    void open(const std::string& path) {
        const int mode = write_ ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
        MPI_Barrier(comm_);
        const double start = node_clock();
        note(sample_,
             error_text("MPI_File_open", MPI_File_open(comm_, path.c_str(), mode, info_, &file_)));
        sample_.open_s += node_clock() - start;
    }

    void set_view(const Call& call, const Types& types) {
        const double start = node_clock();
        const int code =
            MPI_File_set_view(file_, call.displacement, types.etype, types.file, "native", info_);
        note(sample_, error_text("MPI_File_set_view", code));
        sample_.open_s += node_clock() - start;
    }

    void make_calls(const Call& call, const Types& types) {
        const bool last = &call == &access_.calls.back();
        if (access_.independent) {
            MPI_Barrier(comm_);
            times_.start();
            for (std::uint64_t i = 0; i < call.times; ++i) transfer(call, types, i);
            end_transfer(last);
            return;
        }
        for (std::uint64_t i = 0; i < call.times && all_well(sample_, comm_); ++i) {
            MPI_Barrier(comm_);
            times_.start();
            transfer(call, types, i);
            end_transfer(last && i + 1 == call.times);
        }
    }

    void end_transfer(bool last) {
        if (write_ && sync_ && last)
            note(sample_, error_text("MPI_File_sync", MPI_File_sync(file_)));
        times_.stop();
    }

    /// Makes a call for the i-th time. Its file offset and memory follow those of the previous
    /// time.
    void transfer(const Call& call, const Types& types, std::uint64_t i) {
        MPI_Count bytes = 0, etype_bytes = 1;
        MPI_Type_size_x(types.memory, &bytes);
        MPI_Type_size_x(types.etype, &etype_bytes);
        const MPI_Offset offset =
            call.from / etype_bytes + static_cast<MPI_Offset>(i) * (bytes / etype_bytes);
        std::byte* const data = buffer_.data() + call.memory + i * call.memory_step;
        MPI_Status status;
        const int code = move(offset, data, types.memory, &status);
        if (code != MPI_SUCCESS) return;
        MPI_Count moved = 0;
        MPI_Get_elements_x(&status, MPI_BYTE, &moved);
        if (moved != bytes) sample_.counted = false;
    }

    int move(MPI_Offset offset, void* data, MPI_Datatype type, MPI_Status* status) {
        const bool alone = access_.independent;
        const auto write = alone ? MPI_File_write_at : MPI_File_write_at_all;
        const auto read = alone ? MPI_File_read_at : MPI_File_read_at_all;
        const int code = write_ ? write(file_, offset, data, 1, type, status)
                                : read(file_, offset, data, 1, type, status);
        if (code != MPI_SUCCESS) {
            const std::string routine = write_ ? "MPI_File_write_at" : "MPI_File_read_at";
            note(sample_, error_text((routine + (alone ? "" : "_all")).c_str(), code));
        }
        return code;
    }

    void close() {
        if (file_ == MPI_FILE_NULL) return;
        sample_.served_as = hint_given_back(file_);
        const double start = node_clock();
        note(sample_, error_text("MPI_File_close", MPI_File_close(&file_)));
        sample_.close_s = node_clock() - start;
    }

    bool write_;
    const Access& access_;
    bool sync_;
    Buffer& buffer_;
    MPI_Comm comm_;
    MPI_Info info_ = MPI_INFO_NULL;
    std::vector<Types> types_;
    MPI_File file_ = MPI_FILE_NULL;
    std::optional<PeakMemory> calls_memory_;
    CallTimes times_;
    Sample sample_;
};

/// Collective. Measures contiguous POSIX I/O of each rank's part of the file. REQUIRES: the access
/// is one piece.
Sample run_raw(const PosixPass& pass, const Access& access, Buffer& buffer, MPI_Comm comm) {
    Piece piece{0, 0, 0};
    access.for_each_piece([&](const Piece& only) { piece = only; });
    return measure_posix(pass, comm, [&](int fd) {
        return pass.direction == Direction::write
                   ? pwrite_all(fd, buffer.data(), piece.bytes, piece.file)
                   : pread_all(fd, buffer.data(), piece.bytes, piece.file);
    });
}

/// Collective. Sets the measurements and the error to the same values on all ranks. The error is
/// that of the lowest rank that has one, with the rank's number in front.
void agree(Sample& sample, MPI_Comm comm) {
    std::array<double, 2> times{sample.open_s, sample.close_s};
    MPI_Allreduce(MPI_IN_PLACE, times.data(), 2, MPI_DOUBLE, MPI_MAX, comm);
    sample.open_s = times[0];
    sample.close_s = times[1];
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
                bool sync, Buffer& buffer, MPI_Comm comm) {
    Sample sample;
    if (arm.raw()) {
        sample = run_raw({direction, path, sync, arm.direct()}, access, buffer, comm);
    } else if (const auto instructions = arm.bare()) {
        sample = run_bare(*instructions, {direction, path, sync}, access, buffer, comm);
    } else if (arm.by_hand()) {
        sample = run_by_hand({direction, path, sync}, access, buffer, comm);
    } else {
        sample = MpiPass(arm, direction, access, sync, buffer, comm).run(path);
    }
    agree(sample, comm);
    return sample;
}

}  // namespace bench
