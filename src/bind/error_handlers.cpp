#include "bind/error_handlers.hpp"

#include <utility>

namespace oratorio::bind {

namespace {

/// The host wants a function to make a handle of; it is never asked to call it.
void never_called(MPI_File*, int*, ...) {}

}  // namespace

// Intel MPI's standard ABI has the values of MPI_ERRORS_RETURN and MPI_ERRORS_ABORT swapped, so the
// one that files begin with is asked for: it is MPI_ERRORS_RETURN by definition.
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
    return ErrorHandler{ErrorHandler::Kind::user, known->second};
}

/// A predefined handler as the program may get and free it. Open MPI counts those too, so it has to
/// hand it out.
int ErrorHandlers::counted_handle(MPI_Errhandler predefined, MPI_Errhandler* handle) {
    *handle = predefined;
#ifdef OPEN_MPI
    MPI_Errhandler before = predefined;
    int code = host().File_get_errhandler(MPI_FILE_NULL, &before);
    if (code == MPI_SUCCESS) code = host().File_set_errhandler(MPI_FILE_NULL, predefined);
    if (code == MPI_SUCCESS) code = host().File_get_errhandler(MPI_FILE_NULL, handle);
    if (code == MPI_SUCCESS) code = host().File_set_errhandler(MPI_FILE_NULL, before);
    return code == MPI_SUCCESS ? host().Errhandler_free(&before) : code;
#else
    return MPI_SUCCESS;
#endif
}

int ErrorHandlers::make_handle(const ErrorHandler& handler, MPI_Errhandler* handle) {
    const std::lock_guard lock(mutex_);
    switch (handler.kind) {
        case ErrorHandler::Kind::returns:
            return counted_handle(errors_return(), handle);
        case ErrorHandler::Kind::fatal:
            return counted_handle(MPI_ERRORS_ARE_FATAL, handle);
        case ErrorHandler::Kind::aborts:
#ifdef MPI_ERRORS_ABORT
            return counted_handle(
                errors_return() == MPI_ERRORS_ABORT ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT, handle);
#endif
            break;
        case ErrorHandler::Kind::user:
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
