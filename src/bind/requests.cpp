// SPDX-License-Identifier: BSD-3-Clause
#include "bind/requests.hpp"

#include <algorithm>

#include "bind/errors.hpp"
#include "bind/process.hpp"
#include "bind/status.hpp"

namespace oratorio::bind {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local FailureWatch* watch = nullptr;

void* pointer_of(std::uintptr_t id) {
    return reinterpret_cast<void*>(id);
}

}  // namespace

int Requests::add(const PendingRequest& pending, MPI_Request* request) {
    auto kept = std::make_shared<PendingRequest>(pending);
    std::uintptr_t id = 0;
    {
        const std::lock_guard lock(mutex_);
        id = ++last_id_;
        known_.emplace(id, kept);
        ++known_count_;
    }
    const int code = host().Grequest_start(query, forget, cancel, pointer_of(id), &kept->request);
    if (code != MPI_SUCCESS) {
        forget(pointer_of(id));
        return code;
    }
    *request = kept->request;
    const std::lock_guard lock(mutex_);
    unfinished_.push_back(std::move(kept));
    ++unfinished_count_;
    return MPI_SUCCESS;
}

bool Requests::complete_done() {
    if (!unfinished()) return false;
    std::vector<PendingPtr> done;
    abort_on_exception([&] {
        const std::lock_guard lock(mutex_);
        for (PendingPtr& pending : unfinished_) {
            if (pending->operation->done()) done.push_back(std::move(pending));
        }
        if (!done.empty()) std::erase(unfinished_, nullptr);
    });
    // No lock is held, because the host may call back.
    for (const PendingPtr& pending : done) host().Grequest_complete(pending->request);
    unfinished_count_ -= static_cast<int>(done.size());
    return !done.empty();
}

PendingPtr Requests::find(std::uintptr_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    return found != known_.end() ? found->second : nullptr;
}

int Requests::query(void* id, MPI_Status* status) {
    const PendingPtr pending = process().requests.find(reinterpret_cast<std::uintptr_t>(id));
    // There is no outcome if the request was freed, or is queried before it is done.
    const bool done = pending && pending->operation->done();
    set_status(status, done ? pending->operation->outcome().bytes : 0);
    if (!done || pending->operation->outcome().error.kind == ErrorKind::none) return MPI_SUCCESS;
    if (watch == nullptr) return class_of(pending->operation->outcome().error.kind);
    watch->add(pending);
    return MPI_SUCCESS;
}

int Requests::forget(void* id) {
    Requests& requests = process().requests;
    // Freed after the mutex is unlocked: it may be the last to hold the operation and the file.
    decltype(requests.known_)::node_type forgotten;
    const std::lock_guard lock(requests.mutex_);
    forgotten = requests.known_.extract(reinterpret_cast<std::uintptr_t>(id));
    if (!forgotten.empty()) --requests.known_count_;
    return MPI_SUCCESS;
}

/// Does nothing: an access that has begun can't be canceled.
int Requests::cancel(void*, int) {
    return MPI_SUCCESS;
}

FailureWatch::FailureWatch() : outer_(watch) {
    watch = this;
}
FailureWatch::~FailureWatch() {
    watch = outer_;
}

void FailureWatch::add(const PendingPtr& pending) {
    if (std::ranges::find(failed_, pending) == failed_.end()) failed_.push_back(pending);
}

int FailureWatch::raise(const PendingRequest& pending) {
    ErrorHandler handler;
    Rank rank = 0;
    {
        std::unique_lock lock(pending.open->mutex, std::defer_lock);
        if (!pending.open->mutex.is_mine()) lock.lock();
        handler = pending.open->handler;
        if (pending.open->file) rank = pending.open->file->transport().topology().rank;
    }
    return bind::raise(
        handler, pending.fh,
        {pending.operation->outcome().error, pending.open->path, pending.collective, rank});
}

}  // namespace oratorio::bind
