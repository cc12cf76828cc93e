// SPDX-License-Identifier: BSD-3-Clause
#include "bind/engine.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"
#include "bind/errors.hpp"
#include "bind/host_hook.hpp"
#include "bind/process.hpp"

namespace oratorio::bind {

namespace {

using namespace std::chrono_literals;

[[gnu::tls_model("initial-exec")]] thread_local bool in_call = false;
/// Set in the helper thread if only the program's threads may call MPI.
[[gnu::tls_model("initial-exec")]] thread_local bool without_mpi = false;

/// Returns how long to sleep after `fruitless` sleeps in a row that brought no progress: about as
/// long as these took together, up to 1.3 ms. If a thread wakes every few microseconds on the core
/// of a thread that yields, the two of them keep that core, and the rank that they wait for never
/// runs (docs/internals/decisions/waiting-and-progress.md).
std::chrono::microseconds nap(int fruitless) {
    constexpr int kDoublings = 6;
    return 20us * (1 << std::min(fruitless, kDoublings));
}

}  // namespace

bool Engine::full_threads() {
    return thread_level(MPI_THREAD_SINGLE) == MPI_THREAD_MULTIPLE;
}

bool Engine::may_call_mpi() {
    return in_call && !without_mpi;
}

InCall::InCall() : outer_(std::exchange(in_call, true)) {}
InCall::~InCall() {
    in_call = outer_;
}

bool Engine::add(const std::shared_ptr<OpenFile>& open, Helpers helpers) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(files_, open) == files_.end()) files_.push_back(open);
    busy_ = files_.size();
    full_ = helpers.full;
    const bool helped = !helpers.thread || start_thread();
    if (helpers.hook) hook_into_host(called_by_host);
    if (attending_ == 0 && !(helpers.at_leisure && looks_by_itself_)) work_.notify_one();
    return helped;
}

/// Starts the helper thread. If the system refuses now, the next operation tries again.
bool Engine::start_thread() {
    if (thread_.joinable() || stopping_) return true;
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

/// Steps operations while the host waits. Completes no requests, because the host is in the middle
/// of a call. Returns false if the host need not call again.
bool Engine::called_by_host() {
    if (in_call) return true;
    const InCall inside;
    Engine& engine = process().engine;
    if (engine.busy_ > 0) (void)engine.turn(Mover::program);
    const std::lock_guard lock(engine.mutex_);
    return !engine.files_.empty();
}

Engine::Turn Engine::turn(Mover mover, Entry entry) {
    return abort_on_exception([&] {
        Turn turn;
        take_turn(mover, entry, turn);
        return turn;
    });
}

void Engine::take_turn(Mover mover, Entry entry, Turn& turn) {
    std::vector<std::shared_ptr<OpenFile>> files;
    {
        const std::lock_guard lock(mutex_);
        files = files_;
    }
    for (const auto& open : files) {
        FileMutex& mutex = open->mutex;
        if (!(entry == Entry::if_let_in ? mutex.lock_if_let_in() : mutex.try_lock())) {
            turn.pending = true;  // another thread is using the file
            continue;
        }
        const std::lock_guard lock(mutex, std::adopt_lock);
        const Progress progress = open->file ? open->file->progress(mover) : Progress{};
        turn.pending = turn.pending || progress.pending;
        if (progress.pending && !progress.rest) turn.moved = true;
        if (progress.rest && progress.rest->doorbell != nullptr && !turn.resting.on_a_bell()) {
            turn.resting = Resting(open);
            turn.rest = *progress.rest;
        }
        if (progress.any) continue;
        const std::lock_guard list(mutex_);
        std::erase(files_, open);
        busy_ = files_.size();
    }
}

/// Waits until an operation may be able to progress, but never for long, because arriving messages
/// ring no doorbell. `beside`: called by the helper thread, which leaves the core to others.
/// `fruitless`: turns in a row without progress, this one included.
void Engine::wait(const Turn& turn, bool beside, int fruitless) {
    constexpr int kYields = 64;
    if (turn.moved) return;
    if (turn.resting.on_a_bell()) {
        const auto wait = beside ? sleep_until_rung : wait_until_rung;
        wait(*turn.rest.doorbell, turn.rest.heard, 200us);
    } else if (!beside && fruitless < kYields) {
        std::this_thread::yield();
    } else if (turn.pending) {
        std::this_thread::sleep_for(nap(beside ? fruitless - 1 : fruitless - kYields));
    } else {
        std::this_thread::sleep_for(1ms);
    }
}

bool Engine::moves_or_completes(Turn& turn, Entry entry) {
    turn = this->turn(Mover::program, entry);
    const bool completed = process().requests.complete_done();
    return completed || turn.moved;
}

void Engine::poll() {
    const InCall inside;
    Turn turn;
    moves_or_completes(turn, Entry::if_free);
}

Engine::ForegroundWait::ForegroundWait(Engine& engine) : engine_(engine) {
    const std::lock_guard lock(engine_.mutex_);
    ++engine_.attending_;
}

Engine::ForegroundWait::~ForegroundWait() {
    bool left = false;
    {
        const std::lock_guard lock(engine_.mutex_);
        left = --engine_.attending_ == 0 && !engine_.files_.empty() && !engine_.looks_by_itself_;
    }
    if (left) engine_.work_.notify_one();
}

void Engine::ForegroundWait::poll_or_rest() {
    Turn turn;
    if (engine_.moves_or_completes(turn, Entry::if_free)) {
        fruitless_ = 0;
        return;
    }
    wait(turn, false, ++fruitless_);
    engine_.moves_or_completes(turn, Entry::if_let_in);
}

bool Engine::move_others() {
    if (busy_ == 0) return false;
    const InCall inside;
    return turn(Mover::program).moved;
}

/// Waits for work. Returns false if the thread must end. Before it sleeps until woken, the thread
/// checks for work every millisecond for a while, because waking it for each of many small accesses
/// would take longer than the accesses.
bool Engine::work_is_there() {
    constexpr int kLooks = 20;
    const auto there = [this] { return stopping_ || (!files_.empty() && attending_ == 0); };
    std::unique_lock lock(mutex_);
    looks_by_itself_ = true;
    for (int look = 0; look < kLooks && !there(); ++look) work_.wait_for(lock, 1ms);
    looks_by_itself_ = false;
    work_.wait(lock, there);
    return !stopping_;
}

void Engine::run() {
    use_all_cores();
    int fruitless = 0;
    while (work_is_there()) {
        const bool full = full_;
        without_mpi = !full;
        const Entry entry = full && fruitless > 0 ? Entry::if_let_in : Entry::if_free;
        const Turn turn = this->turn(full ? Mover::program : Mover::helper, entry);
        const bool completed = full && process().requests.complete_done();
        fruitless = turn.moved || completed ? 0 : fruitless + 1;
        wait(turn, true, fruitless);
    }
}

/// Ends the helper thread. No other helper thread starts until `stopping_` is reset.
void Engine::end_thread() {
    std::thread thread;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        thread = std::move(thread_);
    }
    work_.notify_one();
    if (thread.joinable()) thread.join();
}

void Engine::retire() {
    poll();  // removes files without operations from files_
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || !files_.empty()) return;
    }
    end_thread();
    unhook_from_host();
    const std::lock_guard lock(mutex_);
    stopping_ = false;
    // Another thread of the program may have added a file since. If the helper thread can't start
    // again, the program's own calls step that file.
    if (!files_.empty()) (void)start_thread();
}

void Engine::shut_down() {
    shut_down_ = true;
    end_thread();
    std::vector<std::shared_ptr<OpenFile>> files;
    {
        const std::lock_guard lock(mutex_);
        files = files_;
    }
    abort_on_exception([&] {
        for (const auto& open : files) {
            const std::lock_guard lock(open->mutex);
            if (open->file) open->file->settle_together();
        }
    });
    process().requests.complete_done();
    unhook_from_host();
}

void Engine::resume() {
    const std::lock_guard lock(mutex_);
    stopping_ = false;
    shut_down_ = false;
}

}  // namespace oratorio::bind
