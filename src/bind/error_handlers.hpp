// SPDX-License-Identifier: BSD-3-Clause
// Error handlers of files (MPI-4.1, 9.3.3 and 14.7): what happens to a program when one of its
// calls fails.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "bind/mpi_types.hpp"

namespace oratorio::bind {

/// What a file does on errors. It is a value, because the program may free the MPI_Errhandler that
/// it came from at any time.
struct ErrorHandler {
    enum class Kind { returns, fatal, aborts, user };
    /// A function of the program. It receives the error code, and returns the code that the failed
    /// call returns.
    using Function = std::function<int(MPI_File, int)>;

    Kind kind = Kind::returns;
    std::shared_ptr<const Function> function;  ///< set for Kind::user only
    /// For Kind::user only: the host's handle with which the program set the handler. It is kept
    /// from being freed, so that the program gets the same handle back.
    std::shared_ptr<const MPI_Errhandler> handle = {};
};

[[nodiscard]] inline ErrorHandler user_handler(ErrorHandler::Function function) {
    return {ErrorHandler::Kind::user,
            std::make_shared<const ErrorHandler::Function>(std::move(function)),
            {}};
}

/// Has the host create MPI_Errhandler handles for the program, and maps each of them to its
/// handler. A host may reuse the value of a freed handle at once, so a handle is looked up only
/// during the call that passes it. Thread-safe.
class ErrorHandlers {
  public:
    /// Records the handler of a handle that the host made.
    void remember(MPI_Errhandler handle, ErrorHandler::Function function);
    /// Returns a handle's handler; nothing if the handle is neither predefined nor known here.
    [[nodiscard]] std::optional<ErrorHandler> find(MPI_Errhandler handle);
    /// Stores a handle in `handle`, which the program must free: a predefined one, the one with
    /// which the program set the handler, or else a new one, with which the host can't run the
    /// user's function. Returns the host's code.
    int make_handle(const ErrorHandler& handler, MPI_Errhandler* handle);

    /// Returns the handler of MPI_FILE_NULL, which is used for opening and deleting, and which each
    /// file has at first.
    [[nodiscard]] ErrorHandler default_handler();
    void set_default_handler(ErrorHandler handler);

  private:
    // REQUIRES, for the next three functions: mutex_ is held.
    int counted_handle(MPI_Errhandler wanted, MPI_Errhandler* handle);
    int predefined_handle(MPI_Errhandler predefined, MPI_Errhandler* handle);
    [[nodiscard]] MPI_Errhandler errors_return();

    std::mutex mutex_;  ///< guards all below
    std::map<MPI_Errhandler, std::shared_ptr<const ErrorHandler::Function>> functions_;
    ErrorHandler default_;
    std::optional<MPI_Errhandler> errors_return_;
};

}  // namespace oratorio::bind
