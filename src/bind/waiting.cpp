// SPDX-License-Identifier: BSD-3-Clause
#include "bind/waiting.hpp"

#include <chrono>
#include <utility>

#include "bind/process.hpp"

namespace oratorio::bind {

namespace {

using Clock = std::chrono::steady_clock;

/// A tag that every host allows. A probe for this tag on MPI_COMM_SELF finds no message unless the
/// program itself uses the tag; even then the message stays in place.
constexpr int kNobodysTag = 32767;

struct Routine {
    const char* name = nullptr;
    const std::string* path = nullptr;
    int rank = 0;
    Clock::time_point first_wait = {};  ///< the epoch: no wait yet
    bool told = false;
    FileMutex* lets_in = nullptr;  ///< the mutex that other threads may have while this one waits
};
/// The routine that this thread is in. Every call uses it several times, so it has the faster model
/// of thread-local memory, which has room for a few bytes only.
[[gnu::tls_model("initial-exec")]] thread_local Routine routine;

/// Reports, once per call of the program, that this rank has waited for a long time. Higher ranks
/// wait longer before they report, so that a job that hangs doesn't print many sentences at once,
/// and a job with late ranks prints a single one. `advice` is empty or ends in "; ".
void notice(const std::string& why, const char* advice = "") {
    const int seconds = process().settings.wait_notice;
    if (seconds <= 0 || routine.told || routine.name == nullptr) return;
    const auto now = Clock::now();
    if (routine.first_wait == Clock::time_point{}) routine.first_wait = now;
    const auto waited =
        std::chrono::duration_cast<std::chrono::seconds>(now - routine.first_wait).count();
    if (waited < seconds * (routine.rank + std::int64_t{1})) return;
    routine.told = true;
    const std::string where = routine.path != nullptr ? ": " + *routine.path : "";
    tell("rank " + std::to_string(routine.rank) + " has waited " + std::to_string(waited) +
         " s in " + routine.name + where + ": " + why + " (" + advice +
         "ORATORIO_WAIT_NOTICE=0 silences this)");
}

}  // namespace

InRoutine::InRoutine(const char* name) : outer_(routine.name) {
    if (outer_ == nullptr) routine = {.name = name};
}

InRoutine::~InRoutine() {
    routine.name = outer_;
}

void routine_uses(const std::string& path, int rank) {
    routine.path = &path;
    routine.rank = rank;
}

LettingIn::LettingIn(FileMutex* mutex) : outer_(std::exchange(routine.lets_in, mutex)) {
    if (mutex != nullptr) mutex->set_lets_in(true);
}

LettingIn::~LettingIn() {
    if (routine.lets_in != nullptr) routine.lets_in->set_lets_in(false);
    routine.lets_in = outer_;
}

bool while_waiting() {
    if (routine.lets_in != nullptr) routine.lets_in->let_in();
    notice("other ranks of the file have not entered this call, or are slow in it",
           "all ranks must make the same calls in the same order; ");
    return process().engine.move_others();
}

/// Serves other ranks while this rank waits for a lock of the job. The probe for a message that no
/// rank sends lets the host make progress.
void while_locked() {
    if (!Engine::may_call_mpi()) return;
    notice("another rank or handle of the job holds a lock on bytes that the call accesses");
    int found = 0;
    if (world_exists())
        (void)host().Iprobe(0, kNobodysTag, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    (void)process().engine.move_others();
}

}  // namespace oratorio::bind
