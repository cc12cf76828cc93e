// SPDX-License-Identifier: BSD-3-Clause
// OpenFile: a File, and the state that only the MPI binding needs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "bind/error_handlers.hpp"
#include "bind/workspaces.hpp"
#include "file/file.hpp"
#include "memory/block_cache.hpp"

namespace oratorio::bind {

/// A datatype handle that outlives the program's own. Predefined types are kept as they are.
class HeldType {
  public:
    HeldType() = default;
    explicit HeldType(MPI_Datatype predefined) : type_(predefined) {}
    /// Returns a datatype of the same data and layout. It has none of the program's attributes, so
    /// that no callback of the program runs.
    [[nodiscard]] static Result<HeldType> equivalent(MPI_Datatype type);
    /// Returns a duplicate of `type` with its attributes, or an equivalent if their callbacks
    /// refuse.
    [[nodiscard]] static Result<HeldType> duplicate(MPI_Datatype type);
    HeldType(HeldType&& other) noexcept { swap(other); }
    HeldType& operator=(HeldType&& other) noexcept {
        swap(other);
        return *this;
    }
    ~HeldType();

    [[nodiscard]] MPI_Datatype get() const { return type_; }
    /// Copies the datatype for the program: stores in `copy` the type itself if it is predefined,
    /// else a duplicate that the program frees. Returns the host's code.
    int copy_to(MPI_Datatype* copy) const;

  private:
    void swap(HeldType& other) noexcept {
        std::swap(type_, other.type_);
        std::swap(owned_, other.owned_);
    }

    MPI_Datatype type_{};
    bool owned_ = false;
};

/// A mutex that Oratorio's own threads take only if no call of the program waits for it. A
/// collective call that waits for other ranks lets other threads have the mutex for a while,
/// because the other ranks may wait for what these threads do next. REQUIRES: the mutex lives until
/// unlock() has returned, also if another thread has it by then.
class FileMutex {
  public:
    void lock() {
        if (!take()) {
            ++waiting_;
            while (!take()) taken_.wait(1);
            --waiting_;
            ++admitted_;
        }
        owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    void unlock() {
        owner_.store({}, std::memory_order_relaxed);
        // A thread counts itself in waiting_ before it looks at taken_ again, so either it finds
        // the mutex free or this thread sees it waiting.
        taken_ = 0;
        if (waiting_ != 0) taken_.notify_one();
    }
    /// Tries to lock the mutex, for a thread that can retry later. Also fails if this thread holds
    /// the mutex already, because it is waiting in a call on this file.
    bool try_lock() {
        if (is_mine() || waiting_ != 0 || !take()) return false;
        owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        return true;
    }
    /// Locks the mutex if it is free, or if it will be soon, because the call that holds it lets
    /// other threads in. REQUIRES: this thread holds no other file's mutex.
    bool lock_if_let_in() {
        if (try_lock()) return true;
        if (is_mine() || !lets_in_) return false;
        lock();
        return true;
    }
    /// Sets whether the call that holds the mutex calls let_in() while it waits for other ranks.
    /// REQUIRES: this thread holds the mutex.
    void set_lets_in(bool lets_in) { lets_in_.store(lets_in, std::memory_order_relaxed); }
    /// Lets a thread that waits for the mutex have it, and then takes it again. REQUIRES: this
    /// thread holds the mutex.
    void let_in();
    /// Waits until no call is under way that has let this one in. REQUIRES: this thread holds the
    /// mutex.
    void wait_for_others();
    /// Returns true if this thread holds the mutex: a function of the program that was called from
    /// within a call on the file then uses the file again.
    [[nodiscard]] bool is_mine() const {
        return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

  private:
    /// Takes the mutex and returns true if it is free.
    bool take() {
        int free = 0;
        return taken_.compare_exchange_strong(free, 1);
    }

    /// 1 while a thread has the mutex, else 0. A std::mutex takes 70 instructions more, which is a
    /// part of the smallest accesses that can be measured.
    std::atomic<int> taken_{0};
    std::atomic<int> waiting_{0};        ///< number of calls that wait in lock()
    std::atomic<unsigned> admitted_{0};  ///< number of calls that have waited in lock(); may wrap
    std::atomic<bool> lets_in_{false};
    int lent_ = 0;  ///< number of calls in let_in(); guarded by this mutex itself
    /// Relaxed, because a thread compares it only with its own id, which it has written itself.
    std::atomic<std::thread::id> owner_{};
};

struct OpenFile {
    /// Frees the datatypes, which only the host can free, in the call that closes the file. A
    /// helper thread, which must not call the host, may free the rest later.
    void free_types() {
        etype = {};
        filetype = {};
    }

    /// Guards all below but path and resting; not held while a user's error handler runs.
    FileMutex mutex;
    std::string path;  ///< the path as the program gave it; never changes
    /// Number of threads that wait for a doorbell of the file without the mutex. The close waits
    /// until it is 0; the decrement comes after the thread's last access to the doorbell.
    std::atomic<int> resting{0};
    LentWorkspace workspace;     ///< lent to this file; returned when the file is closed
    std::unique_ptr<File> file;  ///< null before the file is open, and once it is closed
    ErrorHandler handler;
    int amode = 0;
    HeldType etype;
    HeldType filetype;
    /// Memory for lists of datatypes, kept while a file is open.
    std::shared_ptr<BlockCache> list_memory;
    bool progress_told = false;  ///< a message has told the user how operations progress
};

}  // namespace oratorio::bind
