// SPDX-License-Identifier: BSD-3-Clause
// Requests: the MPI requests of operations under way, and their failures. Each is a generalized
// request of the host (MPI-4.1, 13.2), so the program completes it like any other.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// One request, and its operation.
struct PendingRequest {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File fh{};
    std::shared_ptr<OpenFile> open;
    OperationPtr operation;
    bool collective = false;
};
using PendingPtr = std::shared_ptr<PendingRequest>;

/// The pending requests of this process. Thread-safe.
class Requests {
  public:
    /// Makes a request for an operation that has been started, whether or not it is done. Returns
    /// the host's code.
    int add(const PendingRequest& pending, MPI_Request* request);
    /// Returns true if the host still knows a request of ours: the program hasn't completed or
    /// freed it, or its operation is under way.
    [[nodiscard]] static bool any() { return known_count_.load(std::memory_order_relaxed) > 0; }
    /// Reports finished operations to the host. Returns true if there were any. REQUIRES: this
    /// thread may call MPI.
    bool complete_done();
    /// Returns true if there are operations that were not yet reported to the host as done.
    [[nodiscard]] static bool unfinished() {
        return unfinished_count_.load(std::memory_order_relaxed) > 0;
    }

  private:
    static int query(void* id, MPI_Status* status);
    static int forget(void* id);
    static int cancel(void* id, int done);
    [[nodiscard]] PendingPtr find(std::uintptr_t id);

    std::mutex mutex_;  ///< guards all below but the counts
    std::uintptr_t last_id_ = 0;
    // Requests are identified by number, because hosts may query the state of a request after it
    // was freed, or free it twice.
    std::map<std::uintptr_t, PendingPtr> known_;
    std::vector<PendingPtr> unfinished_;
    // Every MPI_Wait reads the counts, even before a file is opened. The loads are relaxed, because
    // the counted requests are read under mutex_.
    static inline std::atomic<int> known_count_{0};
    static inline std::atomic<int> unfinished_count_{0};
};

/// Keeps the failures of operations that this thread's calls complete or query while the object
/// lives, so that the file's error handler runs after the host's call has returned. Without a
/// FailureWatch the host gets the failure's code and passes it to a communicator's error handler.
class FailureWatch {
  public:
    FailureWatch();
    ~FailureWatch();
    FailureWatch(const FailureWatch&) = delete;
    FailureWatch& operator=(const FailureWatch&) = delete;

    [[nodiscard]] const std::vector<PendingPtr>& failed() const { return failed_; }
    /// Adds a failure unless it was added before: hosts may query the state of one request several
    /// times.
    void add(const PendingPtr& pending);
    /// Runs the error handler of the file. Returns the code for the program.
    static int raise(const PendingRequest& pending);

  private:
    FailureWatch* outer_;
    std::vector<PendingPtr> failed_;
};

}  // namespace oratorio::bind
