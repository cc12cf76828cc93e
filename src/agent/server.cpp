// SPDX-License-Identifier: BSD-3-Clause
#include "agent/server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"

namespace oratorio {

namespace {

constexpr int kRoomAgain = 1000;  ///< milliseconds, while somebody waits for a buffer

void raise(const Descriptor& event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event.number(), &one, sizeof one);
}

void lower(const Descriptor& event) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event.number(), &count, sizeof count);
}

}  // namespace

AgentServer::AgentServer(Wish wish, Door door, Descriptor end, Descriptor changed)
    : wish_(std::move(wish)),
      place_(door.place()),
      end_(std::move(end)),
      changed_(std::move(changed)),
      door_(std::move(door)) {}

Result<std::unique_ptr<AgentServer>> AgentServer::start(Wish wish) {
    auto door = Door::open();
    if (!door) return door.error();
    Descriptor end(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Descriptor changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (end.number() < 0 || changed.number() < 0) return Error::of_errno("making an eventfd");
    std::unique_ptr<AgentServer> server(
        new AgentServer(std::move(wish), std::move(*door), std::move(end), std::move(changed)));
    if (auto started = server->start_threads(); !started) return started.error();
    return server;
}

Result<void> AgentServer::start_threads() {
    if (!buffers_.make(2 * wish_.stores.size(), wish_.shipment_max))
        return Error::make(ErrorKind::no_memory, "no memory for an agent's buffers");
    const SignalsBlocked blocked;  // the new threads inherit it
    try {
        for (std::size_t i = 0; i < wish_.stores.size(); ++i)
            threads_.emplace_back([this, i] { run(i); });
    } catch (const std::system_error& error) {
        return Error::make(ErrorKind::other, "starting an agent's threads", error.code().value());
    }
    return {};
}

AgentServer::~AgentServer() {
    (void)close();
}

Result<void> AgentServer::close() {
    raise(end_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    connections_.clear();
    door_ = Door();
    Result<void> outcome;
    for (const auto& store : std::exchange(wish_.stores, {})) {
        if (auto closed = store->close(); !closed && outcome) outcome = closed;
    }
    return outcome;
}

void AgentServer::run(std::size_t thread) {
    use_all_cores();
    for (;;) {
        std::optional<Work> work;
        {
            const std::lock_guard leads(leading_);
            work = lead();
        }
        if (!work) return;
        perform(thread, *work);
    }
}

/// Waits until a request is whole. Nothing when the threads are to end.
std::optional<AgentServer::Work> AgentServer::lead() {
    std::vector<pollfd> watched;
    for (;;) {
        watched = {{end_.number(), POLLIN, 0}, {changed_.number(), POLLIN, 0}};
        for (const auto& each : connections_)
            watched.push_back({each->number(), each->events(), 0});
        door_.watch(watched);
        const int longest = door_.patience();
        const int ready = ::poll(watched.data(), watched.size(),
                                 buffers_.is_wanted() && longest < 0 ? kRoomAgain : longest);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || watched[0].revents != 0) return std::nullopt;
        if (watched[1].revents != 0) lower(changed_);
        if (auto work = look(watched)) return work;
    }
}

/// The first request that is whole. What else is ready still is when the next one looks.
std::optional<AgentServer::Work> AgentServer::look(std::span<const pollfd> watched) {
    const std::size_t count = connections_.size();
    const std::size_t most = static_cast<std::size_t>(wish_.clients) * std::max(place_.count, 1U);
    std::optional<Work> work;
    for (std::size_t i = 0; i < count && !work; ++i) {
        const std::size_t at = (next_ + i) % count;
        Work found{connections_[at], {}};
        const auto receipt = serve(found, watched[2 + at].revents);
        if (receipt == AgentConnection::Receipt::over) connections_[at].reset();
        if (receipt != AgentConnection::Receipt::whole) continue;
        next_ = at + 1;
        work = std::move(found);
    }
    std::erase(connections_, nullptr);
    for (Socket& socket :
         door_.look(watched.subspan(2 + count), most - std::min(most, connections_.size())))
        connections_.push_back(
            std::make_shared<AgentConnection>(std::move(socket), buffers_, wish_.shared));
    return work;
}

/// A rank that keeps a buffer and has something under way waits for nothing else, or is no longer
/// there.
AgentConnection::Receipt AgentServer::serve(Work& work, int ready) {
    using Receipt = AgentConnection::Receipt;
    AgentConnection& connection = *work.connection;
    if (ready == 0) {
        const auto since = Socket::Clock::now() - wish_.patience;
        return buffers_.is_wanted() && connection.is_stuck(since) ? Receipt::over : Receipt::waits;
    }
    if ((ready & POLLOUT) != 0 && !connection.send_replies()) return Receipt::over;
    return (ready & ~POLLOUT) != 0 ? connection.receive(work.request) : Receipt::waits;
}

void AgentServer::perform(std::size_t thread, Work& work) {
    Service service(*wish_.stores[thread], wish_.binding, wish_.agent);
    const ReplyHead reply =
        service.serve(work.request.head, work.request.description, work.request.data);
    const bool is_left = work.connection->reply(work.request, reply);
    work.connection.reset();
    if (is_left || buffers_.is_wanted()) raise(changed_);
}

}  // namespace oratorio
