// SPDX-License-Identifier: BSD-3-Clause
#include "bind/errors.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/standard_error.hpp"
#include "bind/process.hpp"

namespace oratorio::bind {

int class_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::none:
            return MPI_SUCCESS;
        case ErrorKind::argument:
            return MPI_ERR_ARG;
        case ErrorKind::buffer:
            return MPI_ERR_BUFFER;
        case ErrorKind::count:
            return MPI_ERR_COUNT;
        case ErrorKind::type:
            return MPI_ERR_TYPE;
        case ErrorKind::file_handle:
            return MPI_ERR_FILE;
        case ErrorKind::not_same:
            return MPI_ERR_NOT_SAME;
        case ErrorKind::amode:
            return MPI_ERR_AMODE;
        case ErrorKind::unsupported_datarep:
            return MPI_ERR_UNSUPPORTED_DATAREP;
        case ErrorKind::unsupported_operation:
            return MPI_ERR_UNSUPPORTED_OPERATION;
        case ErrorKind::no_such_file:
            return MPI_ERR_NO_SUCH_FILE;
        case ErrorKind::file_exists:
            return MPI_ERR_FILE_EXISTS;
        case ErrorKind::bad_file:
            return MPI_ERR_BAD_FILE;
        case ErrorKind::access:
            return MPI_ERR_ACCESS;
        case ErrorKind::no_space:
            return MPI_ERR_NO_SPACE;
        case ErrorKind::quota:
            return MPI_ERR_QUOTA;
        case ErrorKind::read_only:
            return MPI_ERR_READ_ONLY;
        case ErrorKind::file_in_use:
            return MPI_ERR_FILE_IN_USE;
        case ErrorKind::duplicate_datarep:
            return MPI_ERR_DUP_DATAREP;
        case ErrorKind::conversion:
            return MPI_ERR_CONVERSION;
        case ErrorKind::info_value:
            return MPI_ERR_INFO_VALUE;
        case ErrorKind::communicator:
            return MPI_ERR_COMM;
        case ErrorKind::io:
            return MPI_ERR_IO;
        case ErrorKind::no_memory:
            return MPI_ERR_NO_MEM;
        case ErrorKind::other:
            return MPI_ERR_OTHER;
        case ErrorKind::internal:
            return MPI_ERR_INTERN;
    }
    return MPI_ERR_UNKNOWN;
}

namespace {

/// Returns true for a failure that isn't the program's fault and that its error class describes too
/// vaguely. A buffer that a device driver refused to copy during an access counts: its error names
/// a rank.
bool worth_telling(const Error& error) {
    const ErrorKind kind = error.kind;
    if (kind == ErrorKind::buffer) return error.rank >= 0;
    return kind == ErrorKind::no_space || kind == ErrorKind::quota || kind == ErrorKind::io ||
           kind == ErrorKind::no_memory || kind == ErrorKind::internal;
}

/// Returns true if this rank reports the error. An error that all ranks have is reported by the
/// rank that it happened on, or by rank 0 if that isn't known.
bool told_here(const Failure& failure) {
    if (!failure.collective) return true;
    return failure.rank == (failure.error.rank >= 0 ? failure.error.rank : 0);
}

/// Calls MPI_Abort on `comm` after a short delay, in which the launcher can pass on the text that
/// says why the job ends. Without the delay, a launcher may drop what a rank wrote last (Hydra does
/// so in one of twelve jobs).
void abort_job(MPI_Comm comm, int code) {
    const timespec moment{0, 100'000'000};
    nanosleep(&moment, nullptr);
    host().Abort(comm, code);
}

/// Returns a communicator with the processes of a file, which MPI_ERRORS_ABORT ends (MPI-4.1, 9.3);
/// without an open file MPI_COMM_SELF. Doesn't wait for the file's lock: another thread may hold it
/// in a collective call that ends only with the job.
MPI_Comm processes_of(MPI_File fh) {
    const std::shared_ptr<OpenFile> open = process().files.find(fh);
    return open && open->workspace.workspace ? open->workspace.comm() : MPI_COMM_SELF;
}

}  // namespace

/// Allocates no memory.
void end_job(const char* why) {
    char line[256] = {};
    const int length = std::snprintf(
        line, sizeof line,
        "oratorio: aborting the job, because a collective call can't continue on this rank: %s\n",
        why);
    const auto bytes = static_cast<std::size_t>(length);
    write_to_standard_error({line, bytes < sizeof line ? bytes : sizeof line - 1});
    if (host_if_loaded() != nullptr) abort_job(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    std::abort();
}

int call_handler(const ErrorHandler& handler, MPI_File fh, int code) {
    switch (handler.kind) {
        case ErrorHandler::Kind::returns:
            break;
        case ErrorHandler::Kind::fatal:
            abort_job(MPI_COMM_WORLD, code);
            break;
        case ErrorHandler::Kind::aborts:
            abort_job(processes_of(fh), code);
            break;
        case ErrorHandler::Kind::user:
            return (*handler.function)(fh, code);
    }
    return code;
}

int raise(const ErrorHandler& handler, MPI_File fh, const Failure& failure) {
    const bool ends =
        handler.kind == ErrorHandler::Kind::fatal || handler.kind == ErrorHandler::Kind::aborts;
    if (ends || (worth_telling(failure.error) && told_here(failure))) {
        tell(describe(failure.error, failure.path), ends);
    }
    return call_handler(handler, fh, class_of(failure.error.kind));
}

int raise_default(const Error& error, const std::string& path) {
    return raise(process().handlers.default_handler(), MPI_FILE_NULL, {error, path, false, 0});
}

}  // namespace oratorio::bind
