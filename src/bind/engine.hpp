// SPDX-License-Identifier: BSD-3-Clause
// Engine: steps the operations of all files, between the program's calls and in them: in the helper
// thread (run), in the host while it waits (called_by_host), in calls of the program that complete
// requests or use files (poll, ForegroundWait), and in calls that wait for other ranks
// (move_others).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// While the object lives, marks this thread as being inside Oratorio: a callback from the host
/// then does nothing.
class InCall {
  public:
    InCall();
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

  private:
    bool outer_;
};

/// What steps a file's operations, besides the program's calls that complete requests or use files.
struct Helpers {
    bool thread = false;
    bool hook = false;        ///< the host steps operations whenever it waits
    bool at_leisure = false;  ///< a thread that will soon check for work anyway isn't woken
    bool full = false;        ///< the helper thread may call MPI
};

/// Keeps a file from being freed while a thread waits for one of the file's doorbells.
class Resting {
  public:
    Resting() = default;
    explicit Resting(std::shared_ptr<OpenFile> open) : open_(std::move(open)) { ++open_->resting; }
    Resting(Resting&& other) noexcept : open_(std::move(other.open_)) {}
    Resting& operator=(Resting&& other) noexcept {
        open_.swap(other.open_);
        return *this;
    }
    ~Resting() {
        if (open_) --open_->resting;
    }
    [[nodiscard]] bool on_a_bell() const { return open_ != nullptr; }

  private:
    std::shared_ptr<OpenFile> open_;
};

/// Steps the operations of all files. Thread-safe.
class Engine {
  public:
    /// Adds a file that has operations under way. Returns false if the helper thread can't be
    /// started: then only the program's calls and the other helpers step the operations.
    bool add(const std::shared_ptr<OpenFile>& open, Helpers helpers);
    /// Steps the operations of all files once, and reports finished ones to the host. REQUIRES:
    /// called in a call of the program, with no file's lock held.
    void poll();
    /// Steps the operations of other files, because other ranks may wait for them. Returns true if
    /// one progressed. Called in a call of the program that waits, which may hold the lock of its
    /// own file.
    bool move_others();
    /// Ends the helper thread and unregisters our progress hook from the host, if no operation is
    /// under way. Called at the end of a session. The next operation that needs the thread or the
    /// hook starts or registers it again.
    void retire();
    /// Ends the helper thread, finishes all operations under way, and unregisters our progress hook
    /// from the host. Called at the beginning of MPI_Finalize. Until resume(), the thread and the
    /// hook are not used, and accesses that callbacks of MPI_Finalize start progress only in calls
    /// of the program.
    void shut_down();
    /// Returns true from shut_down() to resume().
    [[nodiscard]] bool is_shut_down() const { return shut_down_; }
    /// Ends the shutdown. Called at the end of MPI_Finalize: if the program has a session, its
    /// files still use MPI.
    void resume();
    /// Returns true if the host lets threads call it at any time. REQUIRES: called in a call of the
    /// program. The helper thread must not call it, because MPI may have ended by then (with the
    /// last session).
    [[nodiscard]] static bool full_threads();
    /// Returns true if this thread is in a call of the program, and so may call MPI. Returns false
    /// in a file's I/O thread, and in the helper thread outside move_others().
    [[nodiscard]] static bool may_call_mpi();

    /// A call of the program that waits. While this object lives, the call itself does what the
    /// helper thread would do, because two threads that step and wait for the same operations would
    /// only wake each other.
    class ForegroundWait {
      public:
        explicit ForegroundWait(Engine& engine);
        ~ForegroundWait();
        ForegroundWait(const ForegroundWait&) = delete;
        ForegroundWait& operator=(const ForegroundWait&) = delete;
        /// Calls poll(). If that does nothing, waits a little and polls once more.
        void poll_or_rest();

      private:
        InCall inside_;
        Engine& engine_;
        int fruitless_ = 0;  ///< turns in a row without progress
    };

  private:
    /// The result of one turn over all files, and what to wait for if nothing more can be done.
    struct Turn {
        bool moved = false;  ///< an operation progressed, or can at once
        bool pending = false;
        Resting resting;
        WaitHint rest;
    };
    /// How a turn gets the mutex of a file that another thread holds.
    enum class Entry {
        if_free,  ///< not at all
        /// Waits for it if the holder lets others in. Used after a turn without progress, because
        /// the holder may first store for a while. REQUIRES: this thread holds no file's mutex.
        if_let_in
    };
    static bool called_by_host();
    /// Steps the operations of every file whose mutex it gets. An exception in the middle of a
    /// collective operation ends the job: see abort_on_exception().
    Turn turn(Mover mover, Entry entry = Entry::if_free);
    void take_turn(Mover mover, Entry entry, Turn& turn);
    /// Makes a turn for the program. Returns true if an operation progressed, or was reported to
    /// the host as done.
    bool moves_or_completes(Turn& turn, Entry entry);
    static void wait(const Turn& turn, bool beside, int fruitless);
    /// REQUIRES: mutex_ is held.
    [[nodiscard]] bool start_thread();
    void end_thread();
    [[nodiscard]] bool work_is_there();
    void run();

    std::mutex mutex_;  ///< guards all below that isn't atomic
    std::condition_variable work_;
    std::vector<std::shared_ptr<OpenFile>> files_;
    // Read without mutex_. They publish nothing: files_ is read under mutex_.
    std::atomic<std::size_t> busy_{0};  ///< how many files are in files_
    std::atomic<bool> full_{false};     ///< the helper thread may call MPI
    std::atomic<bool> shut_down_{false};
    bool stopping_ = false;         ///< the helper thread must end
    int attending_ = 0;             ///< number of waiting calls of the program
    bool looks_by_itself_ = false;  ///< the helper thread looks for work soon, without being woken
    std::thread thread_;
};

}  // namespace oratorio::bind
