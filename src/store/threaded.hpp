// SPDX-License-Identifier: BSD-3-Clause
// A store whose requests are done by another thread, so that the caller can do other things
// meanwhile: the queue of slots between the exchange thread and the I/O thread of Tsujita et al.,
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

/// One thread that does what is queued, in that order. It starts when it is first wanted and ends
/// with this object, once everything queued is done. It takes no signals of the program.
class IoThread {
  public:
    /// Whose requests are queued.
    class Client {
      public:
        /// Called on the I/O thread. Its memory is the client's.
        virtual void perform(const IoRequest& request) = 0;

      protected:
        ~Client() = default;
    };

    IoThread() = default;
    ~IoThread();
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;

    /// Starts it, and has it a duplicate of `store`, the only one it is asked for, to make requests
    /// of. False when either can't be had.
    [[nodiscard]] bool prepare(Store& store);
    /// That duplicate; null before.
    [[nodiscard]] Store* store() const { return store_.get(); }
    /// Closes it, when nothing is queued.
    Result<void> close();

    /// The queue holds as much as its clients' own depths allow. False when the system gives no
    /// thread.
    [[nodiscard]] bool enqueue(Client& client, const IoRequest& request);

  private:
    struct Job {
        Client* client;
        IoRequest request;
    };
    [[nodiscard]] bool start();
    void run();

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool ending_ = false;
    std::unique_ptr<Store> store_;
    std::thread thread_;
};

/// A store that queues at most `queue_depth` requests (at least 1) for `thread` to do with a
/// duplicate of `store`; all other calls wait until those are done, and are `store`'s. Others may
/// use `store` meanwhile, on the caller's thread. Both must outlive what this gives. Null where no
/// thread or no duplicate can be had: then the caller uses `store`.
std::unique_ptr<Store> make_threaded(Store& store, IoThread& thread, int queue_depth);

}  // namespace oratorio
