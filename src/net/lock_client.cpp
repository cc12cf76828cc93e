// SPDX-License-Identifier: BSD-3-Clause
#include "net/lock_client.hpp"

#include <poll.h>

#include <cerrno>
#include <string>
#include <utility>

namespace oratorio {
namespace {

using Clock = Socket::Clock;

constexpr int kBetweenChores = 1;  ///< milliseconds between two calls of `while_locked`

/// A lock that this thread waits for. `outer` is the wait of the same thread that called
/// `while_locked`, which began this wait; null if there is none.
struct Waiting {
    const Socket& socket;
    const LockTable::Request& wanted;
    LockId number;
    bool asked = true;  ///< the server has the request, and may have granted it by now
    Waiting* outer;
};
thread_local Waiting* waiting = nullptr;

Result<void> say(const Socket& socket, LockOperation operation, const LockTable::Request& wanted,
                 LockId number) {
    // The server reads each message at once, so the socket has room for this one unless the server
    // is gone.
    return socket.send(lock_message(operation, wanted, number), Clock::now() + kLockPeerSilence);
}

Result<void> ask(const Socket& socket, const LockTable::Request& wanted, LockId number) {
    return say(socket, wanted.exclusive ? LockOperation::exclude : LockOperation::share, wanted,
               number);
}

/// Withdraws the requests of which this thread awaits the grant, because it is about to wait for
/// another lock. Ignores errors: if withdrawing a request fails, so does repeating it later.
void give_up_waiting() {
    for (Waiting* one = waiting; one != nullptr; one = one->outer)
        if (std::exchange(one->asked, false))
            (void)say(one->socket, LockOperation::release, one->wanted, one->number);
}

class InWait {
  public:
    explicit InWait(Waiting& mine) { waiting = &mine; }
    ~InWait() { waiting = waiting->outer; }
    InWait(const InWait&) = delete;
    InWait& operator=(const InWait&) = delete;
};

/// Waits a short time, and returns true if there is something to receive.
bool wait_until_readable(const Socket& socket) {
    pollfd watched{socket.number(), POLLIN, 0};
    return ::poll(&watched, 1, kBetweenChores) > 0;
}

}  // namespace

LockId LockClient::next_number() {
    const std::lock_guard lock(mutex_);
    return ++last_number_;
}

/// Returns an earlier connection that has no lock, or an invalid socket if there is none.
Socket LockClient::take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return Socket();
    Socket kept = std::move(idle_.back());
    idle_.pop_back();
    return kept;
}

void LockClient::drop_idle() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
}

Result<Socket> LockClient::connect() const {
    auto connected = connect_to(address_, Clock::now() + limits_.connect);
    if (!connected)
        return Error::make(
            ErrorKind::unsupported_operation,
            "no connection to the job's lock service at " +
                text_of(address_.addresses[0], static_cast<std::uint16_t>(address_.port)) +
                ": check firewalls between nodes",
            connected.error().system_errno);
    connected->end_when_silent(kLockPeerSilence);
    return connected;
}

/// Waits until the server grants the lock, and calls `while_locked` repeatedly. If that function
/// withdraws the request, by waiting for another lock, repeats the request with a new `number`.
Result<void> LockClient::wait_for_grant(Socket& socket, const LockTable::Request& wanted,
                                        LockId& number) {
    Waiting mine{socket, wanted, number, true, waiting};
    const InWait inside(mine);
    Word word{};
    for (std::size_t filled = 0;;) {
        if (wait_until_readable(socket)) {
            const auto got = socket.receive_some(std::span(word).subspan(filled));
            if (!got && !Socket::would_wait(got.error())) return got.error();
            filled += got ? *got : 0;
            if (filled < word.size()) continue;
            filled = 0;
            if (mine.asked && from_word(word) == mine.number) return {};
            continue;  // a grant of a request that this thread has withdrawn
        }
        if (while_locked_ != nullptr) while_locked_();
        if (mine.asked) continue;
        mine.number = number = next_number();
        if (auto asked = ask(socket, wanted, number); !asked) return asked;
        mine.asked = true;
    }
}

/// Acquires a lock through this connection.
Result<LockId> LockClient::acquire_by(Socket socket, const LockTable::Request& wanted) {
    LockId number = next_number();
    auto done = ask(socket, wanted, number);
    if (done) done = wait_for_grant(socket, wanted, number);
    if (!done)
        return Error::make(ErrorKind::io, "lock: the job's lock service no longer answers",
                           done.error().system_errno)
            .at(wanted.range.begin, wanted.range.length());
    const std::lock_guard lock(mutex_);
    held_.emplace(number, std::move(socket));
    return number;
}

/// Repeats the request on a new connection if an earlier one has ended. The server frees a lock
/// when its connection ends, so the first request holds nothing then.
Result<LockId> LockClient::acquire(const LockKey& file, Extent range, bool exclusive) {
    give_up_waiting();
    const LockTable::Request wanted{file, range, exclusive};
    Socket kept = take_idle();
    if (kept.number() < 0) {
        auto fresh = connect();
        if (!fresh) return fresh.error().at(range.begin, range.length());
        return acquire_by(std::move(*fresh), wanted);
    }
    auto acquired = acquire_by(std::move(kept), wanted);
    if (acquired) return acquired;
    drop_idle();
    auto fresh = connect();
    return fresh ? acquire_by(std::move(*fresh), wanted) : acquired;
}

Result<void> LockClient::release(LockId lock) {
    Socket socket;
    {
        const std::lock_guard held(mutex_);
        const auto found = held_.find(lock);
        if (found == held_.end()) return {};
        socket = std::move(found->second);
        held_.erase(found);
    }
    if (auto told = say(socket, LockOperation::release, {}, lock); !told)
        return Error::make(ErrorKind::io, "unlock: the job's lock service no longer answers",
                           told.error().system_errno);
    const std::lock_guard held(mutex_);
    idle_.push_back(std::move(socket));
    return {};
}

Result<ServiceAddress> TcpLocks::serve() {
    const std::lock_guard lock(mutex_);
    if (server_ == nullptr) {
        auto started = LockServer::start();
        if (!started) return started.error();
        server_ = std::move(*started);
    }
    ++offers_;
    return server_->address();
}

void TcpLocks::withdraw() {
    const std::lock_guard lock(mutex_);
    if (offers_ > 0 && --offers_ == 0) server_.reset();
}

std::shared_ptr<LockService> TcpLocks::reach(const ServiceAddress& address) {
    const std::lock_guard lock(mutex_);
    auto& known = reached_[address.token];
    if (known == nullptr) known = std::make_shared<LockClient>(address, while_locked_);
    return known;
}

}  // namespace oratorio
