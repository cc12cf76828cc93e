// SPDX-License-Identifier: BSD-3-Clause
#include "bind/error_handlers.hpp"

#include <utility>

#include "mpi/comm.hpp"

namespace oratorio::bind {

namespace {

/// A placeholder, because the host requires a function to make a handle. It would be called only
/// for errors on files that the host opened.
void never_called(MPI_File*, int*, ...) {}

}  // namespace

// Returns the host's MPI_ERRORS_RETURN. Intel MPI's standard ABI has the values of
// MPI_ERRORS_RETURN and MPI_ERRORS_ABORT swapped. So this function asks for the handler that files
// begin with, which is MPI_ERRORS_RETURN by definition.
MPI_Errhandler ErrorHandlers::errors_return() {
    if (!errors_return_) {
        MPI_Errhandler initial = MPI_ERRORS_RETURN;
        host().File_get_errhandler(MPI_FILE_NULL, &initial);
        errors_return_ = initial;
    }
    return *errors_return_;
}

void ErrorHandlers::remember(MPI_Errhandler handle, ErrorHandler::Function function) {
    const std::lock_guard lock(mutex_);
    functions_[handle] = user_handler(std::move(function)).function;
}

std::optional<ErrorHandler> ErrorHandlers::find(MPI_Errhandler handle) {
    const std::lock_guard lock(mutex_);
    if (handle == errors_return()) return ErrorHandler{};
    if (handle == MPI_ERRORS_ARE_FATAL) return ErrorHandler{ErrorHandler::Kind::fatal, {}};
#ifdef MPI_ERRORS_ABORT
    const MPI_Errhandler swapped =
        errors_return() == MPI_ERRORS_ABORT ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT;
    if (handle == swapped) return ErrorHandler{ErrorHandler::Kind::aborts, {}};
#endif
    const auto known = functions_.find(handle);
    if (known == functions_.end()) return std::nullopt;
    ErrorHandler found{ErrorHandler::Kind::user, known->second, {}};
    MPI_Errhandler held{};
    if (counted_handle(handle, &held) == MPI_SUCCESS) {
        found.handle = {new MPI_Errhandler(held), [](const MPI_Errhandler* last) {
                            MPI_Errhandler freed = *last;
                            if (!mpi_finalized()) host().Errhandler_free(&freed);
                            delete last;
                        }};
    }
    return found;
}

/// Stores `wanted` in `handle`, and makes the host count one more owner of it. Each owner must free
/// the handle. The host counts an owner when the program gets a file's handler. Therefore this
/// function sets `wanted` as the handler of MPI_FILE_NULL, gets it, and restores the previous one.
int ErrorHandlers::counted_handle(MPI_Errhandler wanted, MPI_Errhandler* handle) {
    MPI_Errhandler before = wanted;
    int code = host().File_get_errhandler(MPI_FILE_NULL, &before);
    if (code == MPI_SUCCESS) code = host().File_set_errhandler(MPI_FILE_NULL, wanted);
    if (code == MPI_SUCCESS) code = host().File_get_errhandler(MPI_FILE_NULL, handle);
    if (code == MPI_SUCCESS) code = host().File_set_errhandler(MPI_FILE_NULL, before);
#ifndef OPEN_MPI
    if (before == errors_return() || before == MPI_ERRORS_ARE_FATAL) return code;
#endif
    return code == MPI_SUCCESS ? host().Errhandler_free(&before) : code;
}

/// Stores a predefined handle in `handle`. Open MPI counts the owners of predefined handles as
/// well.
int ErrorHandlers::predefined_handle(MPI_Errhandler predefined, MPI_Errhandler* handle) {
    *handle = predefined;
#ifdef OPEN_MPI
    return counted_handle(predefined, handle);
#else
    return MPI_SUCCESS;
#endif
}

int ErrorHandlers::make_handle(const ErrorHandler& handler, MPI_Errhandler* handle) {
    const std::lock_guard lock(mutex_);
    switch (handler.kind) {
        case ErrorHandler::Kind::returns:
            return predefined_handle(errors_return(), handle);
        case ErrorHandler::Kind::fatal:
            return predefined_handle(MPI_ERRORS_ARE_FATAL, handle);
        case ErrorHandler::Kind::aborts:
#ifdef MPI_ERRORS_ABORT
            return predefined_handle(
                errors_return() == MPI_ERRORS_ABORT ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT, handle);
#endif
            break;
        case ErrorHandler::Kind::user:
            if (handler.handle) return counted_handle(*handler.handle, handle);
            if (const int code = host().File_create_errhandler(never_called, handle);
                code != MPI_SUCCESS)
                return code;
            functions_[*handle] = handler.function;
            break;
    }
    return MPI_SUCCESS;
}

ErrorHandler ErrorHandlers::default_handler() {
    const std::lock_guard lock(mutex_);
    return default_;
}

void ErrorHandlers::set_default_handler(ErrorHandler handler) {
    const std::lock_guard lock(mutex_);
    default_ = std::move(handler);
}

}  // namespace oratorio::bind
