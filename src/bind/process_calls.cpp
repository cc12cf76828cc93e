// SPDX-License-Identifier: BSD-3-Clause
// Calls that start and end MPI. The hint oratorio_progress=thread requests the thread level at
// which the helper thread may call MPI (MPI-4.1, 11.2.1).
#include <atomic>

#include "bind/entry.hpp"

namespace oratorio::bind {

namespace {

/// The number of this process's sessions that have begun and not ended.
std::atomic<int> sessions = 0;

/// Returns true if the hint asks for MPI_THREAD_MULTIPLE. Reads the environment itself, because
/// process() would keep what it reads now, and programs may still change it before their first
/// file.
bool wants_full_threads() {
    const Settings settings = read_environment();
    if (settings.disabled) return false;
    const HintMap hints = merge_hints(settings.hints, {}, "");
    const auto progress = hints.find("oratorio_progress");
    return progress != hints.end() && progress->second == "thread";
}

}  // namespace

int init(int* argc, char*** argv) {
    if (!wants_full_threads()) return ORATORIO_HOST(MPI_Init)(argc, argv);
    int provided = MPI_THREAD_SINGLE;
    return ORATORIO_HOST(MPI_Init_thread)(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
    const int level = wants_full_threads() ? MPI_THREAD_MULTIPLE : required;
    return ORATORIO_HOST(MPI_Init_thread)(argc, argv, level, provided);
}

/// Implements MPI_Finalize. First shut_down() finishes all operations, ends the helper thread and
/// unregisters our progress hook (bind/host_hook.hpp): when MPICH begins to finalize, it stops
/// taking locks and calling hooks, so a helper thread inside an MPI call at that moment would never
/// release its lock. Afterwards MPICH still calls the program's callbacks, which may use files, but
/// fails an assertion if a hook is registered. So neither the thread nor the hook is used until
/// resume().
int finalize() {
    // A program that opens no file also gets the last line of explanations, which on_finalize()
    // writes: it distinguishes a program without MPI-IO from one without this library.
    if (process().settings.explain && !disabled()) watch_for_finalize();
    process().engine.shut_down();
    const int code = ORATORIO_HOST(MPI_Finalize)();
    process().workspaces.stop_counters();
    forget_keys();
    process().engine.resume();
    return code;
}

/// Implements MPI_Session_init, to know in session_finalize() whether other sessions are left.
int session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    const int code = ORATORIO_HOST(MPI_Session_init)(info, errhandler, session);
    if (code == MPI_SUCCESS) ++sessions;
    return code;
}

/// Implements MPI_Session_finalize. When the last session ends, and MPI_Init wasn't called or
/// MPI_Finalize was, MPI frees all attribute keys. Until then this rank keeps them: it must find
/// the same attributes as ranks that end the session later, or it would make other collective calls
/// than these ranks when it opens a file.
int session_finalize(MPI_Session* session) {
    process().engine.retire();
    process().workspaces.retire_counters();
    const int code = ORATORIO_HOST(MPI_Session_finalize)(session);
    const bool last = code == MPI_SUCCESS && --sessions <= 0;
    if (last && (!world_exists() || mpi_finalized())) forget_keys();
    return code;
}

}  // namespace oratorio::bind
