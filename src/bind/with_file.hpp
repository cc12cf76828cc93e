// SPDX-License-Identifier: BSD-3-Clause
// with_file: the frame of the calls on an open file. It finds the file, locks it, makes the call,
// and raises the error. MPI_File_close uses only attempt().
#pragma once

#include <optional>

#include "bind/errors.hpp"
#include "bind/process.hpp"
#include "bind/waiting.hpp"

namespace oratorio::bind {

enum class Scope {
    one_rank,   ///< the call involves only this rank, which alone has its error
    handle,     ///< as one_rank; the call needs only the handle, whose file may be closed
    started,    ///< the error is this rank's alone, but other ranks take part in the started
                ///< operation
    all_ranks,  ///< all ranks return the same error
    close       ///< as all_ranks; no other thread may use the file while the call waits
};

/// The error of a call, and the handler that receives it.
struct PendingError {
    Failure failure;
    ErrorHandler handler;
};

/// Calls `body` with the file locked. Returns the error and its handler, or nothing on success.
/// Doesn't call `body` in two cases. Their errors run no handler of the program:
/// - The file is closed, and the scope isn't `handle`. The handler of a failed close is running
///   then, and may be the caller.
/// - The caller is a function of the program that another call on the file runs (a conversion
///   function, or a callback of a datatype's attribute). The file is locked, and a handler may use
///   it.
template <class Body>
std::optional<PendingError> attempt(OpenFile& open, Scope scope, const Body& body) {
    if (open.mutex.is_mine())
        return PendingError{{Error::make(ErrorKind::other,
                                         "this call was made from within another call on the file, "
                                         "which needs the file for itself"),
                             open.path},
                            ErrorHandler{}};
    const InCall inside;
    const std::lock_guard lock(open.mutex);
    const bool alone = scope == Scope::one_rank || scope == Scope::handle;
    // Threads must make collective calls in the same order on all ranks (MPI-4.1, 14.6.4), so such
    // a call never comes in between another one.
    if (!alone) open.mutex.wait_for_others();
    const LettingIn letting_in(alone || scope == Scope::close ? nullptr : &open.mutex);
    if (!open.file && scope != Scope::handle)
        return PendingError{{Error::make(ErrorKind::file_handle, "the file is closed"), open.path},
                            ErrorHandler{}};
    if (open.file) routine_uses(open.path, open.workspace.rank());
    const auto call = [&] { return body(open); };
    const Error error = alone ? catch_to_error(call) : abort_on_exception(call);
    if (error.kind == ErrorKind::none) return std::nullopt;
    const bool collective = scope == Scope::all_ranks || scope == Scope::close;
    return PendingError{{error, open.path, collective, collective ? open.workspace.rank() : 0},
                        open.handler};
}

/// Calls `body`, which returns an Error, with the locked OpenFile, and raises the error. Returns
/// the code for the program.
template <class Body>
int with_file(MPI_File fh, Scope scope, const Body& body) {
    const std::shared_ptr<OpenFile> open = process().files.find(fh);
    if (!open)
        return raise_default(
            Error::make(ErrorKind::file_handle, "this is not the handle of an open file"));
    const std::optional<PendingError> pending_error = attempt(*open, scope, body);
    if (Requests::unfinished()) process().engine.poll();
    return pending_error ? raise(pending_error->handler, fh, pending_error->failure) : MPI_SUCCESS;
}

/// Returns the error of `result`, or an empty Error if it succeeded.
[[nodiscard]] inline Error error_of(const Result<void>& result) {
    return result ? Error{} : result.error();
}

/// Returns an Error for a return code of the host MPI, empty for MPI_SUCCESS. `what` says what
/// failed.
[[nodiscard]] inline Error error_of(int host_code, const char* what) {
    return host_code == MPI_SUCCESS ? Error{} : Error::make(ErrorKind::other, what);
}

/// Returns the error for an output argument that is a null pointer.
[[nodiscard]] inline Error missing(const char* what) {
    return Error::make(ErrorKind::argument, what);
}

}  // namespace oratorio::bind
