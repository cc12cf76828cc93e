// SPDX-License-Identifier: BSD-3-Clause
// Error: what failed, where, and on which rank. A plain value that fits a message, so one rank's
// error can be broadcast to all ranks byte for byte.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/extent.hpp"

namespace oratorio {

/// One kind per MPI error class that a file routine can raise (MPI-4.1, section 14.8). bind/ maps
/// them 1:1. When the errors of ranks differ, the larger kind is reported.
enum class ErrorKind : int {
    none = 0,
    argument,     // MPI_ERR_ARG
    buffer,       // MPI_ERR_BUFFER
    count,        // MPI_ERR_COUNT
    type,         // MPI_ERR_TYPE
    file_handle,  // MPI_ERR_FILE
    not_same,     // MPI_ERR_NOT_SAME
    amode,        // MPI_ERR_AMODE
    unsupported_datarep,
    unsupported_operation,
    no_such_file,
    file_exists,
    bad_file,  // the name or object can't be a file: it is too long, or a directory
    access,    // permission, or a read from a write-only file
    no_space,
    quota,
    read_only,  // read-only file system, or a write to a file opened read-only
    file_in_use,
    duplicate_datarep,
    conversion,
    info_value,
    communicator,
    io,  // any other storage failure
    no_memory,
    other,
    internal,  // a bug of this library
};

/// The error number of a system call that returned neither a result nor -1 with errno set, as calls
/// to some file system clients do.
inline constexpr int kInvalidResult = 1 << 20;

/// An error has a fixed size and is trivially copyable, so it can be broadcast unchanged.
struct Error {
    ErrorKind kind = ErrorKind::none;
    int system_errno = 0;     ///< 0 when no system call failed
    Rank rank = -1;           ///< rank on which the error happened; -1 if not yet known
    Offset offset = -1;       ///< file offset, -1 when the error has none
    Bytes length = 0;         ///< length of the failed access
    std::int64_t round = -1;  ///< round of a collective, -1 when not in one
    char what[128] = {};      ///< what was tried and what to do; no path, no offset

    /// Makes an error. `what` is cut at 127 characters.
    [[nodiscard]] static Error make(ErrorKind kind, std::string_view what, int system_errno = 0) {
        Error error;
        error.kind = kind;
        error.system_errno = system_errno;
        std::memcpy(error.what, what.data(), std::min(what.size(), sizeof error.what - 1));
        return error;
    }
    /// Makes the error of a system call that failed with errno `number`.
    [[nodiscard]] static Error of_errno(std::string_view what, int number = errno);
    [[nodiscard]] Error at(Offset where, Bytes bytes) const {
        Error error = *this;
        error.offset = where;
        error.length = bytes;
        return error;
    }
    [[nodiscard]] Error in_round(std::int64_t number) const {
        Error error = *this;
        error.round = number;
        return error;
    }
    [[nodiscard]] Error on(Rank where) const {
        Error error = *this;
        error.rank = where;
        return error;
    }
};

/// Returns the kind of an errno: no_space for ENOSPC, none for 0, io for unknown numbers.
[[nodiscard]] ErrorKind kind_of_errno(int system_errno);

/// What an error is about: a file of the program, or anything else, such as a trace, the file of
/// learned times, shared memory or a socket.
enum class Subject { data_file, other };

/// Describes an error for users: "no space left on device (ENOSPC) at 1048576+4096, round 7, rank
/// 3, /scratch/out.h5: <what>; <advice>". Leaves out unknown parts. Ends without advice if there is
/// none for the error. Advice on data files, such as another access mode, is given only if
/// `subject` is data_file.
[[nodiscard]] std::string describe(const Error& error, std::string_view path,
                                   Subject subject = Subject::data_file);

}  // namespace oratorio
