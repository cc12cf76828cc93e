// SPDX-License-Identifier: BSD-3-Clause
// Opens, closes and deletes files.
#include <cstdlib>
#include <ctime>
#include <thread>

#include "bind/entry.hpp"
#include "bind/info.hpp"
#include "bind/launcher.hpp"
#include "bind/waiting.hpp"
#include "bind/with_file.hpp"
#include "mpi/errors_returned.hpp"

namespace oratorio::bind {

namespace {

constexpr const char* kHostMethod = "host";

/// Converts an access mode. Sets `unknown` if it has bits that MPI doesn't define.
AccessMode mode_of(int amode, bool& unknown) {
    const auto has = [&amode](int bit) {
        const bool set = (amode & bit) != 0;
        amode &= ~bit;
        return set;
    };
    AccessMode mode;
    mode.read_only = has(MPI_MODE_RDONLY);
    mode.write_only = has(MPI_MODE_WRONLY);
    mode.read_write = has(MPI_MODE_RDWR);
    mode.create = has(MPI_MODE_CREATE);
    mode.exclusive = has(MPI_MODE_EXCL);
    mode.delete_on_close = has(MPI_MODE_DELETE_ON_CLOSE);
    mode.unique_open = has(MPI_MODE_UNIQUE_OPEN);
    mode.append = has(MPI_MODE_APPEND);
    mode.sequential = has(MPI_MODE_SEQUENTIAL);
    unknown = amode != 0;
    return mode;
}

/// Returns true if the hints ask for the host's own MPI-IO.
bool wants_host(const HintMap& info, const std::string& path) {
    const HintMap all = merge_hints(process().settings.hints, info, path);
    const auto method = all.find("oratorio_method");
    return method != all.end() && method->second == kHostMethod;
}

struct OpenArguments {
    MPI_Comm comm;
    const char* filename;
    int amode;
    MPI_Info info;
    MPI_File* fh;
};

/// Returns which prefixes the host drops from paths. Tested with MPICH 4.0 and 5.0, and Open MPI 4
/// and 5.
Prefixes find_prefixes() {
    const std::string version = library_version();
    if (version.find("Open MPI") != std::string::npos) return Prefixes::kept;
    constexpr std::string_view kMpich = "MPICH Version:";
    const std::size_t number = version.find(kMpich);
    const bool is_new =
        number != std::string::npos && std::atoi(version.c_str() + number + kMpich.size()) >= 5;
    return is_new ? Prefixes::in_small_letters : Prefixes::in_any_letters;
}

Prefixes prefixes_of_host() {
    static const Prefixes found = find_prefixes();
    return found;
}

/// The result of an open on this rank.
struct Opening {
    std::shared_ptr<OpenFile> open = std::make_shared<OpenFile>();
    MPI_File handle = MPI_FILE_NULL;
    bool to_host = false;     ///< the host opens the file instead
    bool collective = false;  ///< an error is the same on all ranks
    Rank rank = 0;
    Nanoseconds began = Recorder::now();  ///< when the program called open
};

/// Fills in the parts of the call that may be invalid. Returns an error if one is.
Error describe(const OpenArguments& arguments, OpenCall& call) {
    bool unknown_bits = false;
    call.path = arguments.filename != nullptr ? arguments.filename : "";
    call.prefixes = prefixes_of_host();
    call.mode = mode_of(arguments.amode, unknown_bits);
    if (arguments.fh == nullptr) return missing("open: the file handle is a null pointer");
    if (arguments.filename == nullptr) return missing("open: the file name is a null pointer");
    if (unknown_bits) return Error::make(ErrorKind::amode, "open: unknown bits in the access mode");
    auto hints = hints_of(arguments.info);
    if (!hints) return hints.error();
    call.info = std::move(*hints);
    return {};
}

/// Returns the CPU time of the calling thread in nanoseconds.
std::int64_t cpu_time_of_thread() {
    timespec time{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Makes the call for File::open. An error of the arguments becomes part of the call, so that
/// File::open reports it to the other ranks.
OpenCall call_of(const OpenArguments& arguments) {
    OpenCall call;
    call.sources = process().settings.hints;
    call.explain = process().settings.explain;
    call.explain_all = process().settings.explain_all;
    call.summary = process().settings.summary;
    call.narrate = [](const std::string& text) { narrate(text); };
    call.summarize = summarize;
    if (process().settings.explain_json) call.record = record;
    call.read_costs = read_costs;
    call.clock = Recorder::now;
    call.cpu_clock = cpu_time_of_thread;
    call.learned_file = &process().learned_file;
    call.devices = &process().devices;
    call.locks = &process().locks;
    call.covers_job = covers_job(arguments.comm);
    call.agent_hosts = &process().agent_hosts;
    call.refused = catch_to_error([&] { return describe(arguments, call); });
    return call;
}

TraceCall trace_of(const Opening& opening) {
    const std::string& path = process().settings.trace_path;
    if (path.empty()) return {};
    int who = -1;
    if (world_exists()) host().Comm_rank(MPI_COMM_WORLD, &who);
    return {path,
            who,
            FileTable::place_of(opening.handle),
            [](const std::string& text) { tell_troubles({text}); },
            opening.began,
            may_be_spawned()};
}

/// Prints the hints in use, as MPI_File_get_info returns them, with their origin unless that is
/// Oratorio itself (ROMIO_PRINT_HINTS).
void print_hints(const OpenFile& open, const HintMap& info) {
    const HintOrigins origins = hint_origins(process().settings.hints, info, open.path);
    std::string text = open.path + ": hints";
    for (const auto& [key, value] : open.file->reported_hints()) {
        text += "\n  " + key + " = " + value;
        if (const auto from = origins.find(key); from != origins.end())
            text += " (from " + std::string(from->second) + ")";
    }
    tell(text, true);
}

Error no_host(const std::string& routine) {
    const char* lacking = host_defect();
    return Error::make(ErrorKind::internal,
                       routine + ": this MPI has no " + (lacking != nullptr ? lacking : "library"));
}

Result<Lending> lend(MPI_Comm comm) {
    const ErrorsReturned of_none;  // for a handle that isn't a communicator
    const ErrorsReturned of_program(comm);
    return process().workspaces.lend(comm, process().settings.ranks_per_node);
}

Error open_here(const OpenArguments& arguments, Opening& opening) {
    if (host_if_loaded() == nullptr) return no_host("open");
    OpenFile& open = *opening.open;
    auto lent = lend(arguments.comm);
    if (!lent) return lent.error();
    if (!lent->remark.empty()) tell(lent->remark);
    if (lent->refused.kind != ErrorKind::none) return lent->refused;
    opening.to_host = lent->workspace.workspace == nullptr;
    if (opening.to_host) return {};
    open.workspace = std::move(lent->workspace);
    opening.collective = true;
    opening.rank = open.workspace.rank();
    watch_for_finalize();
    if (opening.rank == 0) tell_troubles(process().settings.troubles);
    if (const std::string sentence = wrong_launcher(); !sentence.empty()) tell_troubles({sentence});

    OpenCall call = call_of(arguments);
    open.path = call.path;
    routine_uses(open.path, opening.rank);
    const auto to_host =
        agree_on_root(*open.workspace.workspace->transport, wants_host(call.info, call.path));
    if (!to_host) return to_host.error();
    opening.to_host = **to_host;
    if (opening.to_host) return {};

    open.amode = arguments.amode;
    open.handler = process().handlers.default_handler();
    open.etype = HeldType(MPI_BYTE);
    open.filetype = HeldType(MPI_BYTE);
    open.list_memory = keep_list_memory();
    // The file has a handle before it is open, so that a full table is an error on all ranks.
    const Error listed = catch_to_error([&] {
        opening.handle = process().files.add(opening.open);
        return opening.handle != MPI_FILE_NULL
                   ? Error{}
                   : Error::make(ErrorKind::other,
                                 "open: this process has as many open files as there are "
                                 "handles, 65536; close some");
    });
    if (listed.kind != ErrorKind::none) call.refused = listed;
    call.trace = trace_of(opening);
    auto file = File::open(open.workspace.workspace, call);
    if (!file) return file.error();
    open.file = std::move(*file);
    if (process().settings.print_hints && opening.rank == 0) print_hints(open, call.info);
    return {};
}

int open_by_host(const OpenArguments& arguments) {
    const int code = ORATORIO_HOST(MPI_File_open)(arguments.comm, arguments.filename,
                                                  arguments.amode, arguments.info, arguments.fh);
    if (code == MPI_SUCCESS) process().files.add_host(*arguments.fh);
    return code;
}

int close_by_host(MPI_File* fh) {
    const MPI_File closed = *fh;
    const int code = ORATORIO_HOST(MPI_File_close)(fh);
    if (code == MPI_SUCCESS) process().files.remove_host(closed);
    return code;
}

/// The last use of a handle: its file is closed, and the error handler of the close may run. Until
/// this object is destroyed, also by an exception of that handler, calls on the handle find a
/// closed file. Only calls that get, set or call the file's error handler succeed then.
class LastUse {
  public:
    LastUse(MPI_File handle, OpenFile& open) : handle_(handle), open_(open) {}
    LastUse(const LastUse&) = delete;
    LastUse& operator=(const LastUse&) = delete;
    ~LastUse() {
        process().files.remove(handle_);
        const std::lock_guard lock(open_.mutex);
        open_.handler = {};
    }

  private:
    MPI_File handle_;
    OpenFile& open_;
};

/// Closes the file and moves its File to `closed`, which other threads may still use until
/// OpenFile::resting is 0.
Error close_here(OpenFile& open, std::unique_ptr<File>& closed) {
    const Error error = error_of(open.file->close());
    process().account.add(*open.file);
    open.list_memory.reset();
    closed = std::move(open.file);
    return error;
}

/// Collective. Frees a closed file and returns its workspace.
void free_closed(OpenFile& open, std::unique_ptr<File> closed) {
    const std::lock_guard lock(open.mutex);
    while (open.resting > 0) std::this_thread::yield();
    closed.reset();
    open.free_types();
    process().workspaces.give_back(std::move(open.workspace));
}

}  // namespace

int file_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
    if (disabled()) {
        tell_that_it_is_off();
        // Oratorio may be enabled on the other ranks, which would wait for this rank.
        Lending none;
        if (host_if_loaded() != nullptr)
            none = abort_on_exception([&] { return process().workspaces.stand_aside(comm); });
        if (!none.remark.empty()) tell(none.remark);
        if (none.refused.kind != ErrorKind::none)
            return raise_default(none.refused, filename != nullptr ? filename : "");
        return ORATORIO_HOST(MPI_File_open)(comm, filename, amode, info, fh);
    }
    const OpenArguments arguments{comm, filename, amode, info, fh};
    Opening opening = abort_on_exception([] { return Opening{}; });
    const Error error = abort_on_exception([&] { return open_here(arguments, opening); });
    if (!opening.to_host && error.kind == ErrorKind::none) {
        *fh = opening.handle;
        return MPI_SUCCESS;
    }
    abort_on_exception([&] { process().workspaces.give_back(std::move(opening.open->workspace)); });
    if (opening.to_host) return open_by_host(arguments);
    process().files.remove(opening.handle);
    if (fh != nullptr) *fh = MPI_FILE_NULL;
    const std::string path = filename != nullptr ? filename : "";
    return raise(process().handlers.default_handler(), MPI_FILE_NULL,
                 {error, path, opening.collective, opening.rank});
}

int file_close(MPI_File* fh) {
    if (fh == nullptr) return raise_default(missing("close: the file handle is a null pointer"));
    if (process().files.is_host(*fh)) return close_by_host(fh);
    const MPI_File handle = *fh;
    const std::shared_ptr<OpenFile> open = process().files.find(handle);
    if (!open)
        return raise_default(
            Error::make(ErrorKind::file_handle, "close: this is not the handle of an open file"));
    std::unique_ptr<File> closed;
    const std::optional<PendingError> pending_error =
        attempt(*open, Scope::close, [&](OpenFile& file) { return close_here(file, closed); });
    if (!closed) return raise(pending_error->handler, handle, pending_error->failure);
    // Nothing is left to do with other ranks when the error handler runs, because it may throw.
    abort_on_exception([&] { free_closed(*open, std::move(closed)); });
    *fh = MPI_FILE_NULL;
    const LastUse last(handle, *open);
    return pending_error ? raise(pending_error->handler, handle, pending_error->failure)
                         : MPI_SUCCESS;
}

int file_delete(const char* filename, MPI_Info info) {
    bool to_host = false;
    const Error error = catch_to_error([&]() -> Error {
        if (filename == nullptr) return missing("delete: the file name is a null pointer");
        if (host_if_loaded() == nullptr) return no_host("delete");
        const auto hints = hints_of(info);
        if (!hints) return hints.error();
        to_host = wants_host(*hints, filename);
        return to_host ? Error{} : error_of(delete_file(filename, prefixes_of_host()));
    });
    if (to_host) return ORATORIO_HOST(MPI_File_delete)(filename, info);
    if (error.kind == ErrorKind::none) return MPI_SUCCESS;
    return raise_default(error, filename != nullptr ? filename : "");
}

}  // namespace oratorio::bind
