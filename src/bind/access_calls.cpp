// SPDX-License-Identifier: BSD-3-Clause
// Data access (MPI-4.1, 14.4): one implementation for every read and write, blocking, started with
// a request, or split.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "bind/datarep.hpp"
#include "bind/entry.hpp"
#include "bind/host_hook.hpp"
#include "bind/status.hpp"
#include "bind/with_file.hpp"

namespace oratorio::bind {

namespace {

/// Returns true for the MPI_BOTTOM of Open MPI's Fortran modules. It is the address of a variable,
/// which Open MPI's Fortran routines for files pass on to C unchanged.
bool is_fortran_bottom([[maybe_unused]] const void* buffer) {
#ifdef OPEN_MPI
    static const auto known = [] {
        std::array<void*, 4> addresses{};
        std::size_t count = 0;
        for (const char* name : {"mpi_fortran_bottom", "mpi_fortran_bottom_",
                                 "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"})
            addresses[count++] = dlsym(RTLD_DEFAULT, name);
        return addresses;
    }();
    return buffer != nullptr && std::ranges::find(known, buffer) != known.end();
#else
    return false;
#endif
}

/// Converts a buffer argument to an address; MPI_BOTTOM of any language becomes null. Casting const
/// away is safe, because the engine never writes to the buffer of a write.
std::byte* address_of(const void* buffer) {
    return is_fortran_bottom(buffer) ? nullptr : static_cast<std::byte*>(const_cast<void*>(buffer));
}

/// Fills in the memory layout and the conversion of `call`, or returns why they are refused.
Result<void> describe_memory(const AccessForm& form, const View& view, AccessCall& call) {
    if (form.count < 0) return Error::make(ErrorKind::count, "access: the count is negative");
    if (form.datatype == MPI_DATATYPE_NULL)
        return Error::make(ErrorKind::type, "access: the datatype is MPI_DATATYPE_NULL");
    auto type = decode(form.datatype);
    if (!type) return type.error();
    const Shape& shape = *type->shape;
    // A null buffer is MPI_BOTTOM when the datatype holds addresses.
    if (call.buffer == nullptr && form.count > 0 && shape.size() > 0 && shape.span().begin == 0) {
        return Error::make(ErrorKind::buffer, "access: the buffer is a null pointer");
    }
    call.memory = {std::move(type->shape), type->extent, 0, form.count};
    if (is_native(view.representation)) return {};
    auto conversion = conversion_for(view.representation, form.datatype, form.count);
    if (!conversion) return conversion.error();
    call.conversion = std::move(*conversion);
    return {};
}

AccessCall call_of(const AccessForm& form, const File& file) {
    AccessCall call;
    call.direction = form.direction;
    call.collective = form.collective;
    call.at = form.at;
    call.offset = form.offset;
    call.buffer = address_of(form.buffer);
    const auto described = catch_to_error([&] { return describe_memory(form, file.view(), call); });
    if (!described) call.refused = described.error();
    return call;
}

/// How the operations of a file progress.
struct Moved {
    bool at_start = false;  ///< the call that starts operations waits for them
    Helpers helpers;
    bool all_by_thread = false;  ///< the helper thread alone can finish them

    [[nodiscard]] std::string sentence() const {
        if (at_start) return "the call that starts them completes them";
        if (all_by_thread) return "a helper thread makes them progress";
        std::string text = "they progress in the program's calls that wait, test or use files";
        if (helpers.hook) text = "they progress whenever the MPI library waits";
        return helpers.thread
                   ? "a helper thread performs accesses that need no messages; with messages, " +
                         text
                   : text;
    }
};

/// Returns true if the program's calls that complete requests reach Oratorio.
bool sees_completions() {
    static const bool sees = [] {
        Dl_info theirs{};
        void* const wait = dlsym(RTLD_DEFAULT, "MPI_Wait");
        return wait != nullptr && dladdr(wait, &theirs) != 0 && theirs.dli_fname != nullptr &&
               std::string(theirs.dli_fname).find("liboratorio") != std::string::npos;
    }();
    return sees;
}

/// Decides how operations progress. A host with a hook calls Oratorio whenever the host waits, even
/// in MPI_Recv, so the hint `calls` needs no helper thread there. Without a hook, or with
/// MPI_THREAD_MULTIPLE (the hook would call MPI while other threads do), the thread is necessary:
/// otherwise a rank that waits in MPI_Recv would hold up its accesses, and with them the other
/// ranks, forever. During MPI_Finalize neither hook nor thread is possible.
Moved moved_how(const OpenFile& open) {
    const ProgressChoice wish = open.file->hints().progress;
    const bool ending = process().engine.is_shut_down();
    const bool full = !ending && Engine::full_threads();
    const bool hooked = !ending && !full && host_has_hook();
    const bool threaded = !ending && (wish != ProgressChoice::calls || !hooked);
    Moved moved;
    moved.at_start = wish == ProgressChoice::start || (!full && !sees_completions());
    moved.helpers = {.thread = threaded, .hook = hooked, .full = full};
    moved.all_by_thread = threaded && (full || open.file->transport().in_memory());
    return moved;
}

/// Passes started operations to the engine, or waits for them if the hints say so or if nothing can
/// step them later. A `small` operation wakes no thread that will soon check for work anyway.
void keep_moving(const std::shared_ptr<OpenFile>& open, bool small,
                 const OperationPtr& operation = nullptr) {
    const bool explains = process().settings.explain && !open->progress_told;
    if (!explains && operation && operation->done()) return;
    Moved moved = moved_how(*open);
    moved.helpers.at_leisure = small;
    if (explains && open->file->transport().topology().rank == 0) {
        narrate(open->path + ": nonblocking and split accesses: " + moved.sentence());
    }
    open->progress_told = true;
    if (operation && operation->done()) return;
    if (moved.at_start) return open->file->settle();
    if (process().engine.add(open, moved.helpers)) return;
    static std::once_flag told;
    std::call_once(told, [] {
        const std::string progress = sees_completions()
                                         ? "they progress only in the program's MPI calls"
                                         : "each completes in the call that starts it";
        tell("the system refused a helper thread for nonblocking accesses, so " + progress +
             "; raise the limit on threads (ulimit -u)");
    });
    if (!sees_completions()) open->file->settle();
}

}  // namespace

int access(const AccessForm& form, MPI_Status* status, MPI_File fh) {
    return with_file(fh, form.collective ? Scope::all_ranks : Scope::one_rank, [&](OpenFile& open) {
        const Outcome outcome = open.file->access(call_of(form, *open.file));
        set_status(status, outcome.bytes);
        return outcome.error;
    });
}

int start(const AccessForm& form, MPI_Request* request, MPI_File fh) {
    if (request != nullptr) *request = MPI_REQUEST_NULL;
    const std::shared_ptr<OpenFile> open = process().files.find(fh);
    PendingRequest pending{MPI_REQUEST_NULL, fh, open, nullptr, form.collective};
    const Scope scope = form.collective ? Scope::started : Scope::one_rank;
    const int code = with_file(fh, scope, [&](OpenFile& file) -> Error {
        AccessCall call = call_of(form, *file.file);
        if (request == nullptr)
            call.refused = missing("nonblocking access: the request is a null pointer");
        const OperationPtr operation = file.file->start(call);
        // This call returns the error of a request that is a null pointer, and for an independent
        // access any error that the start finds. MPI_Wait returns all other errors.
        const bool refused = operation->refused() && !form.collective;
        const bool small = call.memory.size() <= kSmallAccess;
        if (small && !operation->done() && !Requests::unfinished())
            file.file->progress(Mover::program);
        // During MPI_Finalize there may be no later call to step the operation. An independent
        // operation needs no other rank, so it is finished now.
        if (!form.collective && process().engine.is_shut_down()) file.file->finish(operation);
        keep_moving(open, small, operation);
        if (request == nullptr || refused)
            return request == nullptr ? call.refused : operation->outcome().error;
        pending.operation = operation;
        return {};
    });
    if (code != MPI_SUCCESS) return code;
    if (abort_on_exception([&] { return process().requests.add(pending, request); }) !=
        MPI_SUCCESS) {
        return with_file(fh, scope, [&](OpenFile& file) {
            file.file->finish(pending.operation);
            return Error::make(ErrorKind::no_memory,
                               "nonblocking access: the host MPI can't create a request");
        });
    }
    // The access may be done already, and there may be no later call that completes its request.
    process().requests.complete_done();
    return MPI_SUCCESS;
}

int begin_split(const AccessForm& form, MPI_File fh) {
    const std::shared_ptr<OpenFile> open = process().files.find(fh);
    return with_file(fh, Scope::started, [&](OpenFile& file) {
        const Error error = error_of(file.file->begin_split(call_of(form, *file.file)));
        keep_moving(open, false);
        return error;
    });
}

int end_split(Direction direction, Positioning at, const void* buffer, MPI_Status* status,
              MPI_File fh) {
    return with_file(fh, Scope::all_ranks, [&](OpenFile& open) {
        const Outcome outcome = open.file->end_split(direction, at, address_of(buffer));
        set_status(status, outcome.bytes);
        return outcome.error;
    });
}

}  // namespace oratorio::bind
