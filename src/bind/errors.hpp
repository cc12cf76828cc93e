// SPDX-License-Identifier: BSD-3-Clause
// From an Error to what the program sees: a predefined error class, a line on stderr, the file's
// error handler.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// The predefined class of a kind. It is a valid error code on every host, and MPI_Error_class
/// gives it back.
[[nodiscard]] int class_of(ErrorKind kind);

/// An error of one call.
struct Failure {
    Error error;
    std::string path;         ///< of the file; empty when unknown
    bool collective = false;  ///< all ranks have this error, so one of them tells it
    Rank rank = 0;            ///< this process in the file's communicator
};

/// Tells the user what the class can't, runs the handler and gives the code to return. Call it with
/// no lock held and outside any try block: the handler is the program's code, and may call MPI or
/// throw.
int raise(const ErrorHandler& handler, MPI_File fh, const Failure& failure);
/// The same through the handler of MPI_FILE_NULL.
int raise_default(const Error& error, const std::string& path = {});
/// Runs the handler for a code of the program's own choice (MPI_File_call_errhandler).
/// The code it leaves.
int call_handler(const ErrorHandler& handler, MPI_File fh, int code);

/// Says why on stderr, and ends the job: other ranks would wait for this one for ever.
[[noreturn]] void end_job(const char* why);

/// What `body` gives, or the Error of an exception that came out of it. No exception of ours leaves
/// the library. For calls of one rank, and for what a collective one does before its first message.
template <class Body>
Error contained(const Body& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return Error::make(ErrorKind::no_memory, "out of memory");
    } catch (const std::exception& exception) {
        return Error::make(ErrorKind::internal, exception.what());
    }
}

/// The same where other ranks count on this one: an exception has left the call half done. It is
/// one that had nothing else to be made of, as small needs are met from the reserve (base/reserve).
template <class Body>
auto unbroken(const Body& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        end_job("no memory is left, not even what was set aside for such a case");
    } catch (const std::exception& exception) {
        end_job(exception.what());
    }
}

}  // namespace oratorio::bind
