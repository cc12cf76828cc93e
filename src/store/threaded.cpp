// SPDX-License-Identifier: BSD-3-Clause
#include "store/threaded.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"

namespace oratorio {
namespace {

// The store and the thread that a store made by open_threaded() owns.
struct Belongings {
    std::unique_ptr<Store> store;
    IoThread thread;
};

class ThreadedStore final : public Store, private IoThread::Client {
  public:
    /// `beside` is the store with which the thread performs the requests: the thread's duplicate of
    /// `store`, or `store` itself if this object owns it.
    ThreadedStore(Store& store, Store& beside, IoThread& thread, int queue_depth)
        : store_(store), beside_(beside), thread_(thread) {
        facts_ = store_.facts();
        facts_.limits = thread_.limits();
        facts_.limits.queue_depth = std::max(queue_depth, 1);
        facts_.limits.asynchronous = facts_.limits.performs_jobs = true;
    }
    explicit ThreadedStore(std::unique_ptr<Belongings> belongings, int queue_depth)
        : ThreadedStore(*belongings->store, *belongings->store, belongings->thread, queue_depth) {
        belongings_ = std::move(belongings);
    }
    ~ThreadedStore() override { (void)wait_until_idle(); }

    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }

    Submitted submit(const IoRequest& request) override {
        {
            const std::lock_guard hold(lock_);
            if (queued_ + done_.size() >= static_cast<std::size_t>(limits().queue_depth))
                return Submitted::full;
            ++queued_;
        }
        if (thread_.enqueue(*this, request)) return Submitted::queued;
        perform(request);
        return Submitted::done;
    }

    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        std::unique_lock hold(lock_);
        if (wait) changed_.wait(hold, [&] { return !done_.empty() || queued_ == 0; });
        const std::size_t count = std::min(out.size(), done_.size());
        std::copy_n(done_.begin(), count, out.begin());
        done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
        if (queued_ == 0) take_over_limits();
        return count;
    }

    void finish_jobs() override { (void)wait_until_idle(); }
    Result<Bytes> size() override { return wait_until_idle().size(); }
    Result<void> resize(Bytes bytes, bool allocate) override {
        return wait_until_idle().resize(bytes, allocate);
    }
    Result<void> sync() override { return wait_until_idle().sync(); }
    Result<void> lock(Extent range, bool lock, bool exclusive) override {
        return wait_until_idle().lock(range, lock, exclusive);
    }
    Result<bool> is_locked_elsewhere(Extent range) override {
        return wait_until_idle().is_locked_elsewhere(range);
    }
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override {
        return wait_until_idle().map(range, direction, populate);
    }
    Result<std::unique_ptr<Store>> duplicate() override { return wait_until_idle().duplicate(); }
    Result<void> close() override { return wait_until_idle().close(); }

  private:
    void perform(const IoRequest& request) override {
        IoCompletion completion{.token = request.token};
        if (request.job != nullptr) {
            request.job->perform(beside_);
        } else {
            IoRequest flushed = request;
            flushed.flush = Flush::at_once;  // the caller's thread can't flush writes of beside_
            (void)beside_.submit(flushed);   // never full: beside_ has no other requests
            while (beside_.reap(std::span(&completion, 1), true) == 0) {
            }
        }
        thread_.note_limits(beside_.limits());
        const std::lock_guard hold(lock_);
        --queued_;
        done_.push_back(completion);
        changed_.notify_all();  // under the lock: a waiter may destroy this object at once
    }

    // Waits until the thread has performed all requests of this object, and returns the store for
    // other calls. Until the caller's next submit(), the thread performs nothing for this object.
    Store& wait_until_idle() {
        std::unique_lock hold(lock_);
        changed_.wait(hold, [&] { return queued_ == 0; });
        return store_;
    }

    // Copies the limits that a refused transfer may have changed.
    void take_over_limits() {
        const StoreLimits now = thread_.limits();
        facts_.limits.direct_read = now.direct_read;
        facts_.limits.direct_write = now.direct_write;
        facts_.limits.remark = now.remark;
    }

    std::unique_ptr<Belongings> belongings_;
    Store& store_;
    Store& beside_;
    IoThread& thread_;
    StoreFacts facts_;
    std::mutex lock_;
    std::condition_variable changed_;
    // Number of requests that aren't performed yet. While this is 0, the I/O thread doesn't use
    // beside_ for this object.
    std::size_t queued_ = 0;
    std::deque<IoCompletion> done_;
};

}  // namespace

IoThread::~IoThread() {
    {
        const std::lock_guard hold(lock_);
        ending_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

bool IoThread::prepare(Store& store) {
    const std::lock_guard hold(lock_);
    if (store_ == nullptr) {
        auto another = store.duplicate();
        if (!another) return false;
        store_ = std::move(*another);
        limits_ = store_->limits();
    }
    return thread_.joinable() || start();
}

StoreLimits IoThread::limits() const {
    const std::lock_guard hold(lock_);
    return limits_;
}

void IoThread::note_limits(const StoreLimits& limits) {
    const std::lock_guard hold(lock_);
    limits_ = limits;
}

Result<void> IoThread::close() {
    const auto store = std::exchange(store_, nullptr);
    return store != nullptr ? store->close() : Result<void>();
}

bool IoThread::enqueue(Client& client, const IoRequest& request) {
    const std::lock_guard hold(lock_);
    if (!thread_.joinable() && !start()) return false;
    jobs_.push_back({&client, request});
    changed_.notify_one();
    return true;
}

void IoThread::wait_until_idle() {
    std::unique_lock hold(lock_);
    idle_.wait(hold, [&] { return jobs_.empty(); });
}

bool IoThread::start() {
    const SignalsBlocked blocked;  // the new thread inherits the signal mask
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void IoThread::run() {
    std::unique_lock hold(lock_);
    for (;;) {
        changed_.wait(hold, [&] { return ending_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        const Job job = jobs_.front();
        hold.unlock();
        job.client->perform(job.request);
        hold.lock();
        jobs_.pop_front();
        if (jobs_.empty()) idle_.notify_all();
    }
}

std::unique_ptr<Store> make_threaded(Store& store, IoThread& thread, int queue_depth) {
    if (!thread.prepare(store)) return nullptr;
    return std::make_unique<ThreadedStore>(store, *thread.store(), thread, queue_depth);
}

Result<std::unique_ptr<Store>> open_threaded(const std::string& path, const OpenMode& mode,
                                             int queue_depth) {
    auto opened = open_posix(path, mode);
    if (!opened) return opened.error();
    auto belongings = std::make_unique<Belongings>();
    belongings->store = std::move(*opened);
    belongings->thread.note_limits(belongings->store->limits());
    return std::unique_ptr<Store>(
        std::make_unique<ThreadedStore>(std::move(belongings), queue_depth));
}

}  // namespace oratorio
