// SPDX-License-Identifier: BSD-3-Clause
// Engine: moves the operations of all files on, between the program's calls and in them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// While it lives this thread is in a call of ours: a host that calls us back is sent away.
class InCall {
  public:
    InCall();
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

  private:
    bool outer_;
};

/// Who moves operations on besides the program's calls that complete requests or use files.
struct Helpers {
    bool thread = false;
    bool hook = false;        ///< the host, wherever it waits
    bool at_leisure = false;  ///< the thread needn't begin before it looks by itself
    bool full = false;        ///< the thread may call MPI, too
};

/// While it lives the file stays as it is for somebody who waits for a bell of it.
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

/// Thread-safe.
class Engine {
  public:
    /// The file has operations under way. False when the system gives no thread: then only the
    /// others move them on.
    bool add(const std::shared_ptr<OpenFile>& open, Helpers helpers);
    /// From a call of the program, which may not hold a file's lock: moves everything on a little
    /// and tells the host of what is done.
    void poll();
    /// From a call of the program that waits, and may hold the lock of its own file: moves the
    /// other files on, as other ranks may wait for those. True when that moved something.
    bool move_others();
    /// For the end of a session: where nothing is under way the thread is gone, and the host has
    /// nothing of ours. Both come again with the next operation.
    void retire();
    /// For the beginning of MPI_Finalize: everything that is under way is done, the thread is gone,
    /// and the host has nothing of ours. None of it comes again before resume(): until then
    /// accesses made by callbacks progress only in their own calls.
    void shut_down();
    /// True from shut_down() to resume().
    [[nodiscard]] bool is_shut_down() const { return shut_down_; }
    /// For the end of MPI_Finalize: where the program has a session, its files still use MPI.
    void resume();
    /// The host lets threads call it at any time. For calls of the program: a thread of ours must
    /// not ask, as MPI may be over when it comes to it (with the last session).
    [[nodiscard]] static bool full_threads();
    /// This thread may call MPI: it is the program's, or the helper where threads may.
    [[nodiscard]] static bool may_call_mpi();

    /// While it lives a call of the program waits and does itself what the helper thread would do:
    /// two that step and wait for the same would only wake each other.
    class Attendance {
      public:
        explicit Attendance(Engine& engine);
        ~Attendance();
        Attendance(const Attendance&) = delete;
        Attendance& operator=(const Attendance&) = delete;
        /// poll(), and where that does nothing a short wait and another one.
        void poll_or_rest();

      private:
        InCall inside_;
        Engine& engine_;
        int fruitless_ = 0;  ///< turns in a row
    };

  private:
    /// One turn over all files, and what to wait for when nothing more can be done.
    struct Turn {
        bool moved = false;  ///< or can be moved at once
        bool pending = false;
        Resting resting;
        Rest rest;
    };
    static bool called_by_host();
    /// Whoever moves an operation of all ranks on may not stop half way: see unbroken().
    Turn turn(Mover mover);
    void take_turn(Mover mover, Turn& turn);
    /// Of the program's: whether something moved, or could be told to the host as done.
    bool moves_or_completes(Turn& turn);
    static void wait(const Turn& turn, bool beside, int fruitless);
    [[nodiscard]] bool start_thread();
    void end_thread();
    [[nodiscard]] bool work_is_there();
    void run();

    std::mutex mutex_;
    std::condition_variable work_;
    std::vector<std::shared_ptr<OpenFile>> files_;
    std::atomic<std::size_t> busy_{0};  ///< how many files that is
    std::atomic<bool> full_{false};     ///< the helper thread may call MPI, too
    std::atomic<bool> shut_down_{false};
    bool stopping_ = false;         ///< the thread ends
    int attending_ = 0;             ///< calls of the program
    bool looks_by_itself_ = false;  ///< the thread, soon
    std::thread thread_;
};

}  // namespace oratorio::bind
