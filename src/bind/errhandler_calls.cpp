// SPDX-License-Identifier: BSD-3-Clause
// Error handlers of files (MPI-4.1, 9.3.3 and 9.5).
#include "bind/entry.hpp"
#include "bind/with_file.hpp"

namespace oratorio::bind {

int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* errhandler) {
    if (function == nullptr || errhandler == nullptr)
        return raise_default(missing("create error handler: an argument is a null pointer"));
    // The host gets the function as well, for the files that it opens.
    const int code = host().File_create_errhandler(function, errhandler);
    if (code != MPI_SUCCESS) return code;
    process().handlers.remember(*errhandler, [function](MPI_File fh, int error) {
        function(&fh, &error);
        return error;
    });
    return MPI_SUCCESS;
}

// The host doesn't get the destructor, because it would run the destructor when the program frees
// the handle, while files still use the handler. Our record of the handle keeps the state alive
// until the host uses the handle's value again.
int file_create_errhandler_x(MPIX_File_errhandler_function_x* function,
                             MPIX_Destructor_function* destructor, void* extra_state,
                             MPI_Errhandler* errhandler) {
    if (function == nullptr || errhandler == nullptr)
        return raise_default(missing("create error handler: an argument is a null pointer"));
    const auto destroy = [destructor](void* state) {
        if (destructor != nullptr) destructor(state);
    };
    const std::shared_ptr<void> state(extra_state, destroy);
    const auto call = [function, state](MPI_File fh, int error) {
        function(fh, error, state.get());
        return error;
    };
    const auto& create = ORATORIO_HOST(MPIX_File_create_errhandler_x);
    if (!create.present()) return process().handlers.make_handle(user_handler(call), errhandler);
    // The host gets the function as well, for the files that it opens.
    const int code = create(
        function, [](void*) {}, extra_state, errhandler);
    if (code == MPI_SUCCESS) process().handlers.remember(*errhandler, call);
    return code;
}

int file_set_errhandler(MPI_File fh, MPI_Errhandler errhandler) {
    const auto handler = process().handlers.find(errhandler);
    const Error unknown = missing("set error handler: this is not an error handler of files");
    if (fh != MPI_FILE_NULL) {
        return with_file(fh, Scope::handle, [&](OpenFile& open) {
            if (handler) open.handler = *handler;
            return handler ? Error{} : unknown;
        });
    }
    if (!handler) return raise_default(unknown);
    process().handlers.set_default_handler(*handler);
    // The host uses the handler for the files that it opens.
    return host().File_set_errhandler(fh, errhandler);
}

int file_get_errhandler(MPI_File fh, MPI_Errhandler* errhandler) {
    if (errhandler == nullptr)
        return raise_default(missing("get error handler: the handler is a null pointer"));
    const auto give = [&](const ErrorHandler& handler) {
        return error_of(process().handlers.make_handle(handler, errhandler),
                        "get error handler: the host MPI can't create a handle");
    };
    if (fh != MPI_FILE_NULL)
        return with_file(fh, Scope::handle, [&](OpenFile& open) { return give(open.handler); });
    const Error error = give(process().handlers.default_handler());
    return error.kind == ErrorKind::none ? MPI_SUCCESS : raise_default(error);
}

int file_call_errhandler(MPI_File fh, int errorcode) {
    ErrorHandler handler = process().handlers.default_handler();
    if (fh != MPI_FILE_NULL) {
        const int code = with_file(fh, Scope::handle, [&](OpenFile& open) {
            handler = open.handler;
            return Error{};
        });
        if (code != MPI_SUCCESS) return code;
    }
    call_handler(handler, fh, errorcode);
    return MPI_SUCCESS;
}

}  // namespace oratorio::bind
