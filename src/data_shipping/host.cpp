// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/host.hpp"

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

constexpr int kRoomAgain = 1000;  ///< milliseconds between checks while a buffer is wanted
/// A check is late if more time than this has passed since the check before it.
constexpr std::chrono::milliseconds kLate{2 * kRoomAgain};

void raise(const Descriptor& event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event.number(), &one, sizeof one);
}

void lower(const Descriptor& event) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event.number(), &count, sizeof count);
}

}  // namespace

AgentHost::AgentHost(const Options& options, JobListener listener, Descriptor end,
                     Descriptor changed)
    : options_(options),
      address_(listener.address()),
      end_(std::move(end)),
      changed_(std::move(changed)),
      listener_(std::move(listener)) {}

Result<std::shared_ptr<AgentHost>> AgentHost::start(const Options& options) {
    auto listener = JobListener::open();
    if (!listener) return listener.error();
    Descriptor end(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Descriptor changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (end.number() < 0 || changed.number() < 0) return Error::of_errno("creating an eventfd");
    std::shared_ptr<AgentHost> host(
        new AgentHost(options, std::move(*listener), std::move(end), std::move(changed)));
    if (auto started = host->start_threads(); !started) return started.error();
    return host;
}

Result<void> AgentHost::start_threads() {
    if (!buffers_.make(2 * options_.threads, options_.shipment_max))
        return Error::make(ErrorKind::no_memory, "no memory for an agent's buffers");
    const SignalsBlocked blocked;  // the new threads inherit the signal mask
    try {
        for (std::size_t i = 0; i < options_.threads; ++i)
            threads_.emplace_back([this, i] { run(i); });
    } catch (const std::system_error& error) {
        return Error::make(ErrorKind::other, "starting an agent's threads", error.code().value());
    }
    return {};
}

AgentHost::~AgentHost() {
    raise(end_);
    for (std::thread& thread : threads_) thread.join();
}

ServiceAddress AgentHost::add(ServedFile& file) {
    const std::lock_guard serving(serving_);
    ServiceAddress address = address_;
    address.service = next_service_++;
    served_[address.service].file = &file;
    return address;
}

void AgentHost::remove(const ServiceAddress& address) {
    std::unique_lock serving(serving_);
    const auto found = served_.find(address.service);
    worked_.wait(serving, [&] { return found->second.working == 0; });
    served_.erase(found);
}

void AgentHost::run(std::size_t thread) {
    use_all_cores();
    for (;;) {
        std::optional<Work> work;
        {
            const std::lock_guard leads(leading_);
            work = lead();
            if (!work) end_connections();
        }
        if (!work) return;
        perform(thread, *work);
    }
}

/// Waits until a whole request has arrived, and returns it. Returns nothing if the threads must
/// end.
std::optional<AgentHost::Work> AgentHost::lead() {
    std::vector<pollfd> watched;
    for (;;) {
        watched = {{end_.number(), POLLIN, 0}, {changed_.number(), POLLIN, 0}};
        for (const auto& each : connections_)
            watched.push_back({each->number(), each->events(), 0});
        listener_.watch(watched);
        const int longest = listener_.patience();
        const bool wanted = buffers_.is_wanted();
        const int ready =
            ::poll(watched.data(), watched.size(), wanted && longest < 0 ? kRoomAgain : longest);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || watched[0].revents != 0) return std::nullopt;
        if (watched[1].revents != 0) lower(changed_);
        renew_patience(wanted);
        if (auto work = look(watched)) return work;
    }
}

/// Restarts the patience with every rank if no buffer was wanted, or if this check comes late. The
/// clock also runs while the job is suspended, and no rank can send then.
void AgentHost::renew_patience(bool wanted) {
    const auto now = Socket::Clock::now();
    const bool late = now - std::exchange(checked_, now) > kLate;
    if (wanted && !late) return;
    for (const auto& each : connections_) each->restart_patience(now);
}

/// Closes the connections, so that ranks notice the end at once, even if poll(2) has failed.
void AgentHost::end_connections() {
    connections_.clear();
    listener_ = JobListener();
}

/// Returns the first whole request, if there is one, and admits new connections. Connections that
/// were ready but not served are still ready in the next call.
std::optional<AgentHost::Work> AgentHost::look(std::span<const pollfd> watched) {
    const std::size_t count = connections_.size();
    const std::size_t most = connections_max();
    std::optional<Work> work;
    for (std::size_t i = 0; i < count && !work; ++i) {
        const std::size_t at = (next_ + i) % count;
        Work found{.connection = connections_[at], .request = {}, .served = nullptr};
        auto receipt = serve(found, watched[2 + at].revents);
        if (receipt == AgentConnection::Receipt::whole && !begin(found))
            receipt = AgentConnection::Receipt::over;
        if (receipt == AgentConnection::Receipt::over) connections_[at].reset();
        if (receipt != AgentConnection::Receipt::whole) continue;
        next_ = at + 1;
        work = std::move(found);
    }
    std::erase(connections_, nullptr);
    for (Socket& socket :
         listener_.look(watched.subspan(2 + count), most - std::min(most, connections_.size())))
        connections_.push_back(std::make_shared<AgentConnection>(std::move(socket), buffers_));
    return work;
}

/// Returns the number of connections that all ranks of the served files need if each rank uses
/// every address of this machine.
std::size_t AgentHost::connections_max() {
    const std::lock_guard serving(serving_);
    std::size_t clients = 0;
    for (const auto& [number, served] : served_)
        clients += static_cast<std::size_t>(served.file->clients);
    return clients * std::max(address_.count, 1U);
}

/// Handles the events of one connection. Ends it if the rank keeps a wanted buffer while its
/// transfer makes no progress: such a rank is gone or stopped, because a live one with outstanding
/// requests waits for nothing but its agents.
AgentConnection::Receipt AgentHost::serve(Work& work, int ready) {
    using Receipt = AgentConnection::Receipt;
    AgentConnection& connection = *work.connection;
    if (ready == 0) {
        const bool stuck = connection.is_stuck(checked_ - options_.patience);
        return buffers_.is_wanted() && stuck ? Receipt::over : Receipt::waits;
    }
    if ((ready & POLLOUT) != 0 && !connection.send_replies()) return Receipt::over;
    return (ready & ~POLLOUT) != 0 ? connection.receive(work.request) : Receipt::waits;
}

/// Finds the file of a whole request, and the parts of a request in shared memory. Returns false if
/// either doesn't exist; the rank is then disconnected.
bool AgentHost::begin(Work& work) {
    AgentConnection::Request& request = work.request;
    const std::lock_guard serving(serving_);
    const auto found = served_.find(request.head.service);
    bool good = found != served_.end();
    if (good && request.head.is_shared()) {
        const SharedBuffers& shared = found->second.file->shared;
        const auto description = shared.at(request.head.described_at, request.head.described);
        const auto data = shared.at(request.head.data_at, request.head.data);
        good = description && data;
        if (good) {
            shared.fence();
            request.description = *description;
            request.data = *data;
        }
    }
    if (!good) {
        buffers_.give_back(request.buffer);
        return false;
    }
    work.served = &found->second;
    ++work.served->working;
    return true;
}

void AgentHost::perform(std::size_t thread, Work& work) {
    ServedFile& file = *work.served->file;
    Service service(*file.stores[thread], file.binding, file.agent);
    const ReplyHead reply =
        service.serve(work.request.head, work.request.description, work.request.data);
    if (work.request.head.is_shared()) file.shared.fence();
    const bool is_left = work.connection->reply(work.request, reply);
    work.connection.reset();
    if (is_left || buffers_.is_wanted()) raise(changed_);
    const std::lock_guard serving(serving_);
    --work.served->working;
    worked_.notify_all();
}

Result<std::shared_ptr<AgentHost>> AgentHosts::get(const AgentHost::Options& options) {
    const std::lock_guard hold(mutex_);
    std::weak_ptr<AgentHost>& known = hosts_[options];
    if (auto there = known.lock()) return there;
    auto started = AgentHost::start(options);
    if (started) known = *started;
    return started;
}

}  // namespace oratorio
