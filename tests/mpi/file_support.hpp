// SPDX-License-Identifier: BSD-3-Clause
// Helpers for programs that test data access: hints as pairs, a file's bytes as the operating
// system sees them, and patterns.
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mpi/bind_support.hpp"
#include "support/method_names.hpp"

namespace oratorio::test {

using Hints = std::vector<std::pair<std::string, std::string>>;
using Bytes = std::vector<unsigned char>;

inline const std::vector<std::string> kMethods = method_names();
inline const std::vector<std::string> kStores = {"posix", "uring"};

inline void require(bool claim, const char* file, int line, const std::string& text) {
    if (!claim) fail(file, line, text.c_str());
}
/// Checks `claim` as CHECK does, and adds `context` to the message.
#define CHECK_IN(context, claim) \
    ::oratorio::test::require((claim), __FILE__, __LINE__, std::string(#claim) + " in " + (context))

/// An MPI_Info that holds hints.
class Info {
  public:
    explicit Info(const Hints& hints) {
        MPI_Info_create(&info_);
        for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
    }
    ~Info() { MPI_Info_free(&info_); }
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    operator MPI_Info() const { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

/// A file's name that all ranks share. Constructor and destructor are collective; the destructor
/// removes the file.
class ScratchFile {
  public:
    ScratchFile() : name_(shared_name()) {}
    explicit ScratchFile(std::string name) : name_(std::move(name)) {}
    ~ScratchFile() {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank_of_world() == 0) ::unlink(name_.c_str());
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    const std::string& name() const { return name_; }

  private:
    std::string name_;
};

/// Collective. Opens a file with hints.
inline MPI_File open_file(const std::string& name, int mode, const Hints& hints,
                          MPI_Comm comm = MPI_COMM_WORLD) {
    MPI_File file = MPI_FILE_NULL;
    const Info info(hints);
    const int code = MPI_File_open(comm, name.c_str(), mode, info, &file);
    CHECK_IN(name + ", class " + std::to_string(class_of(code)), code == MPI_SUCCESS);
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    return file;
}

inline long long moved_bytes(const MPI_Status& status) {
    MPI_Count bytes = -1;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return static_cast<long long>(bytes);
}

inline long long sum_of_ranks(long long mine) {
    long long sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/// Returns the value if all ranks have the same, or -1 if they differ.
inline int same_on_all_ranks(int mine) {
    int both[2] = {mine, -mine}, most[2];
    MPI_Allreduce(both, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == -most[1] ? mine : -1;
}

inline std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/// Returns a byte that is never 0, so that it can't be taken for a hole.
inline unsigned char pattern(std::uint64_t offset, std::uint64_t salt = 0) {
    return static_cast<unsigned char>(1 + mix(offset ^ (salt << 40)) % 255);
}

/// Returns the size of a file, without MPI; -1 if there is no such file.
inline long long size_of_file(const std::string& name) {
    struct stat status {};
    return ::stat(name.c_str(), &status) == 0 ? static_cast<long long>(status.st_size) : -1;
}

/// Reads bytes of a file, without MPI. Returns fewer than `length` at the end of the file.
inline Bytes bytes_of_file(const std::string& name, long long offset, long long length) {
    Bytes bytes(static_cast<std::size_t>(length));
    const int descriptor = ::open(name.c_str(), O_RDONLY);
    std::size_t have = 0;
    while (descriptor >= 0 && have < bytes.size()) {
        const ssize_t got = ::pread(descriptor, bytes.data() + have, bytes.size() - have,
                                    static_cast<off_t>(offset) + static_cast<off_t>(have));
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    ::close(descriptor);
    bytes.resize(have);
    return bytes;
}

/// Writes bytes into a file, without MPI. Creates the file if there is none.
inline void put_into_file(const std::string& name, long long offset, const Bytes& bytes) {
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT, 0666);
    CHECK_IN(name, ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
                       static_cast<ssize_t>(bytes.size()));
    ::close(descriptor);
}

}  // namespace oratorio::test
