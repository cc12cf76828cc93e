// SPDX-License-Identifier: BSD-3-Clause
// Measures costs between the processes of one node: access to another process's memory, wake-ups,
// reductions, and making shared memory.
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "comm/doorbell.hpp"
#include "comm/node_transport.hpp"
#include "forked.hpp"
#include "memory/shared_memory.hpp"
#include "plan/methods.hpp"
#include "session.hpp"
#include "type/cursor.hpp"

namespace oratorio::calibrate {

using namespace std::chrono_literals;

namespace {

constexpr Bytes kLong = 16 << 10;
constexpr Bytes kShort = 64;
// The greatest number of iovecs that one call lists, as in src/exchange/node_shared/remote_data.
constexpr std::size_t kIovecsMax = 1024;
constexpr int kRanks = kSharedAggregators;

/// Lists the next pieces of the cursor, at most `bytes`. Returns the bytes listed; the cursor may
/// end past them if the list is full.
Bytes list_pieces(std::vector<iovec>& list, Cursor& cursor, std::byte* base, Bytes bytes) {
    list.clear();
    Bytes listed = 0;
    while (listed < bytes && list.size() < kIovecsMax) {
        const auto room = static_cast<std::int64_t>(kIovecsMax - list.size());
        StridedRun run = cursor.next(bytes - listed);
        if (run.count == 0) break;
        run.count = std::min(run.count, room);
        for (std::int64_t i = 0; i < run.count; ++i)
            list.push_back(
                {base + run.offset + i * run.stride, static_cast<std::size_t>(run.length)});
        listed += run.bytes();
    }
    return listed;
}

/// Measures reading the strided pieces of another process's `user`, sub-buffer by sub-buffer.
Result<Nanoseconds> reach_across(const Forked& other, std::span<std::byte> user, Bytes length) {
    const Bytes span = std::ssize(user);
    const Layout layout{Shape::strided(Shape::run(length), span / (2 * length), 2 * length), span,
                        0, 1};
    std::vector<std::byte> buffer(static_cast<std::size_t>(kSharedSlotBytes), std::byte{1});
    std::vector<iovec> here;
    std::vector<iovec> there;
    Cursor cursor(layout);
    const Stopwatch watch;
    for (Bytes taken = 0; taken < layout.size();) {
        cursor.seek_size(taken);
        const Bytes bytes = list_pieces(there, cursor, user.data(), kSharedSlotBytes / 2);
        // In the collective buffer the pieces are as far apart as in the file.
        here.clear();
        for (const iovec& piece : there)
            here.push_back({buffer.data() + here.size() * 2 * piece.iov_len, piece.iov_len});
        if (process_vm_readv(other.process(), here.data(), here.size(), there.data(), there.size(),
                             0) != bytes)
            return Error::make(ErrorKind::access, "the kernel refuses cross-memory attach", errno);
        taken += bytes;
    }
    return watch.elapsed();
}

/// Plays one side of a ping-pong: waits for this side's doorbell, and rings the other side's.
/// Returns false if the other side stops answering.
bool answer(Doorbell& mine, Doorbell& other, int turns) {
    for (int turn = 0; turn < turns; ++turn) {
        const auto heard = static_cast<std::uint32_t>(turn);
        const Stopwatch watch;
        while (mine.rings.load() == heard) {
            constexpr Nanoseconds kTooLong = 5e9;
            if (watch.elapsed() > kTooLong) return false;
            wait_until_rung(mine, heard, 100ms);
        }
        ring(other);
    }
    return true;
}

struct Bells {
    Doorbell child{WaitPolicy::yields};
    Doorbell parent{WaitPolicy::yields};
};

Error silent() {
    return Error::make(ErrorKind::other, "a helper process does not answer");
}

/// Binds this process, and the processes that it starts, to one core until the destructor runs.
class OneCore {
  public:
    OneCore() {
        known_ = sched_getaffinity(0, sizeof before_, &before_) == 0;
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(static_cast<std::size_t>(std::max(0, sched_getcpu())), &here);
        if (known_) (void)sched_setaffinity(0, sizeof here, &here);
    }
    ~OneCore() {
        if (known_) (void)sched_setaffinity(0, sizeof before_, &before_);
    }
    OneCore(const OneCore&) = delete;
    OneCore& operator=(const OneCore&) = delete;

  private:
    cpu_set_t before_{};
    bool known_ = false;
};

/// Measures the time from ringing a waiter's doorbell until the waiter runs, for ranks that share a
/// core.
Result<Nanoseconds> wake(int turns) {
    const OneCore shared;
    const auto doorbells = make_shared_memory<Bells>();
    if (doorbells == nullptr) return Error::make(ErrorKind::no_memory, "memory for two processes");
    const auto child =
        Forked::start([&] { (void)answer(doorbells->child, doorbells->parent, turns + 1); });
    if (!child) return child.error();
    ring(doorbells->child);
    while (doorbells->parent.rings.load() == 0) {  // waits until the child has started
        if (sleep_until_rung(doorbells->parent, 0, 5s); doorbells->parent.rings.load() == 0)
            return silent();
    }
    const Stopwatch watch;
    if (!answer(doorbells->parent, doorbells->child, turns)) return silent();
    return watch.elapsed() / (2.0 * turns);
}

/// Makes reductions of 8 bytes, one after another.
Result<void> reduce_often(Transport& transport, int turns) {
    for (int turn = 0; turn < turns; ++turn) {
        std::uint64_t value = 1;
        if (const auto done = reduce(transport, std::span(&value, 1), ReduceOp::sum); !done)
            return done.error();
    }
    return {};
}

/// Measures a reduction. Returns its time divided by the number of ranks.
Result<Nanoseconds> collective(int turns) {
    const auto meeting_point = make_shared_memory<MeetingPoint>();
    if (meeting_point == nullptr)
        return Error::make(ErrorKind::no_memory, "memory for several processes");
    const auto join = [&](Rank rank) {
        return NodeTransport::over(std::make_unique<ForkedTransport>(*meeting_point, rank, kRanks));
    };
    const int unmeasured = turns / 10 + 1;
    std::vector<Forked> others;
    for (Rank rank = 1; rank < kRanks; ++rank) {
        auto other = Forked::start([&] {
            auto transport = join(rank);
            if (transport) (void)reduce_often(**transport, unmeasured + turns);
        });
        if (!other) return other.error();
        others.push_back(std::move(*other));
    }
    auto transport = join(0);
    if (!transport) return transport.error();
    if (dynamic_cast<NodeTransport*>(transport->get()) == nullptr)
        return Error::make(ErrorKind::no_space, "shared memory is not available");
    if (auto done = reduce_often(**transport, unmeasured); !done) return done.error();
    const Stopwatch watch;
    if (auto done = reduce_often(**transport, turns); !done) return done.error();
    return watch.elapsed() / (static_cast<double>(turns) * kRanks);
}

/// Measures making shared memory for the ranks of a node, where one rank creates it and the others
/// attach it on all cores at once. This process attaches it once per rank, and divides the time by
/// the number of cores.
Result<Nanoseconds> make_node_memory() {
    constexpr Bytes kBytes = kRanks * 2 * kSharedSlotBytes;
    const Stopwatch making;
    auto made = SharedMemory::create(kBytes);
    if (!made) return made.error();
    const Nanoseconds made_in = making.elapsed();
    std::vector<SharedMemory> attached;  // released after the measurement
    const Stopwatch attaching;
    for (int other = 1; other < kRanks; ++other) {
        auto one = SharedMemory::attach(made->name(), kBytes);
        if (!one) return one.error();
        attached.push_back(std::move(*one));
    }
    const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, kRanks - 1U);
    return made_in + attaching.elapsed() / cores;
}

/// Returns true if `error` is none. Otherwise the resource isn't available, and the function
/// reports the constants as kept.
bool available(Session& session, const Error& error, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (error.kind != ErrorKind::none) session.kept(name, describe(error, "", Subject::other));
    }
    return error.kind == ErrorKind::none;
}

Result<void> measure_reaching(Session& session) {
    std::vector<std::byte> user(static_cast<std::size_t>(session.scale().data), std::byte{1});
    const auto child = Forked::start([] { pause(); });
    if (!child) return child.error();
    const auto refused = reach_across(*child, std::span(user).first(2 * kLong), kLong);
    if (!available(session, refused ? Error{} : refused.error(), {"cross_byte", "cross_piece"}))
        return {};
    const std::vector<Probe> probes{
        {"long pieces of another process", [&] { return reach_across(*child, user, kLong); }},
        {"short pieces of another process",
         [&] { return reach_across(*child, std::span(user).first(user.size() / 8), kShort); }}};
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const double bytes = static_cast<double>(user.size()) / 2;
    const Line reached = fit(bytes, (*times)[0], bytes / kLong, 8 * (*times)[1], bytes / kShort);
    session.measured("cross_byte", reached.byte);
    session.measured("cross_piece", reached.piece);
    return {};
}

/// A probe that measures one constant, if its resource is available here.
struct Single {
    const char* name;
    Probe probe;
};

Result<void> measure_singles(Session& session, std::span<const Single> singles) {
    std::vector<Probe> probes;
    std::vector<const char*> names;
    for (const Single& single : singles) {
        const auto tried = single.probe.run();
        if (!tried && tried.error().kind == ErrorKind::internal) return tried.error();
        if (!available(session, tried ? Error{} : tried.error(), {single.name})) continue;
        probes.push_back(single.probe);
        names.push_back(single.name);
    }
    const auto times = session.medians(probes);
    if (!times) return times.error();
    for (std::size_t i = 0; i < names.size(); ++i) session.measured(names[i], (*times)[i]);
    return {};
}

}  // namespace

Result<void> measure_processes(Session& session) {
    if (const auto reached = measure_reaching(session); !reached) return reached.error();
    const int turns = session.scale().turns;
    const std::vector<Single> singles{
        {"wake", {"waking another process", [=] { return wake(turns); }}},
        {"collective", {"reductions of 8 processes", [=] { return collective(turns); }}},
        {"node_memory", {"shared memory of 8 processes", make_node_memory}}};
    return measure_singles(session, singles);
}

}  // namespace oratorio::calibrate
