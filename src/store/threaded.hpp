// SPDX-License-Identifier: BSD-3-Clause
// A store that passes its requests to an I/O thread, so that the caller can do other work. Its
// queue corresponds to the queue of slots between exchange thread and I/O thread in Tsujita et al.,
// "Multithreaded Two-Phase I/O" (2014), section II-B.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "store/store.hpp"

namespace oratorio {

/// A thread that performs queued requests in order. The thread starts on first use and ends with
/// this object, once the queue is empty. It receives none of the program's signals.
class IoThread {
  public:
    /// The owner of queued requests.
    class Client {
      public:
        /// Performs a request. The I/O thread calls it. The client owns the memory.
        virtual void perform(const IoRequest& request) = 0;

      protected:
        ~Client() = default;
    };

    IoThread() = default;
    ~IoThread();
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;

    /// Starts the thread, and makes a duplicate of `store` for it unless an earlier call has made
    /// one. Returns false if the thread or the duplicate isn't available.
    [[nodiscard]] bool prepare(Store& store);
    /// Returns the duplicate that prepare() made; null if there is none.
    [[nodiscard]] Store* store() const { return store_.get(); }
    /// Returns the limits of the store that performs the requests, as they were after the last
    /// request. The store's own limits may change at any time during a request.
    [[nodiscard]] StoreLimits limits() const;
    /// Sets the result of limits(). A client calls this after each request, before it reports
    /// that the request is done.
    void note_limits(const StoreLimits& limits);
    /// Closes the duplicate. REQUIRES: nothing is queued.
    Result<void> close();

    /// Queues a request. Only the queue depths of the clients bound the queue. Returns false if the
    /// system provides no thread.
    [[nodiscard]] bool enqueue(Client& client, const IoRequest& request);
    /// Waits until all queued requests are performed.
    void wait_until_idle();

  private:
    struct Job {
        Client* client;
        IoRequest request;
    };
    [[nodiscard]] bool start();
    void run();

    mutable std::mutex lock_;
    std::condition_variable changed_;
    std::condition_variable idle_;
    std::deque<Job> jobs_;  ///< the first is being performed
    bool ending_ = false;
    std::unique_ptr<Store> store_;
    StoreLimits limits_;
    std::thread thread_;
};

/// Makes a store that queues at most `queue_depth` requests (at least 1) for `thread`, which
/// performs them with a duplicate of `store`. The other calls that need the file (size(), sync(),
/// lock() and the like) wait until these requests are done, and then go to `store`. The caller's
/// thread may use `store` at the same time. `store` and `thread` must outlive the result. Returns
/// null if there is no thread or no duplicate; the caller then uses `store` directly.
std::unique_ptr<Store> make_threaded(Store& store, IoThread& thread, int queue_depth);

}  // namespace oratorio
