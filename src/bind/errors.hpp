// SPDX-License-Identifier: BSD-3-Clause
// Turns an Error into what the program sees: a predefined error class, perhaps a line on stderr,
// and a call of the file's error handler.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// Returns the predefined class of a kind. It is a valid error code on every host, and
/// MPI_Error_class returns it unchanged.
[[nodiscard]] int class_of(ErrorKind kind);

/// An error of one call.
struct Failure {
    Error error;
    std::string path;         ///< path of the file; empty if unknown
    bool collective = false;  ///< all ranks have this error, so one of them reports it
    Rank rank = 0;            ///< rank of this process in the file's communicator
};

/// Runs the handler and returns the code for the program. First describes the error on stderr if
/// the handler ends the program, or if the class says too little; in the latter case one rank
/// describes an error that all ranks have. REQUIRES: no lock is held, and no try block encloses the
/// call: the handler is the program's code, and may call MPI or throw.
int raise(const ErrorHandler& handler, MPI_File fh, const Failure& failure);
/// Raises an error with the handler of MPI_FILE_NULL, as raise() does.
int raise_default(const Error& error, const std::string& path = {});
/// Runs the handler for a code of the program's own choice (MPI_File_call_errhandler). Returns the
/// handler's code; predefined handlers return `code`.
int call_handler(const ErrorHandler& handler, MPI_File fh, int code);

/// Reports why on stderr, and ends the job: other ranks would wait for this one forever.
[[noreturn]] void end_job(const char* why);

/// Returns what `body` returns, an Error or a Result, or its exception as an Error, because none of
/// Oratorio's exceptions may leave the library. Used for calls of one rank, and for what a
/// collective call does before its first message.
template <class Body>
auto catch_to_error(const Body& body) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return Error::make(ErrorKind::no_memory, "out of memory");
    } catch (const std::exception& exception) {
        return Error::make(ErrorKind::internal, exception.what());
    }
}

/// Returns what `body` returns. Used where other ranks depend on this one: an exception ends the
/// job, because it has left the call half done. Most likely no memory is left at all then, because
/// small needs are met from the reserve (memory/reserve).
template <class Body>
auto abort_on_exception(const Body& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        end_job("out of memory, and the memory reserved for this case is used up");
    } catch (const std::exception& exception) {
        end_job(exception.what());
    }
}

}  // namespace oratorio::bind
