// SPDX-License-Identifier: BSD-3-Clause
#include "forked.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

namespace oratorio::calibrate {

using namespace std::chrono_literals;

Result<Forked> Forked::start(const std::function<void()>& body) {
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process < 0)
        return Error::make(ErrorKind::other, "a helper process can't be started", errno);
    if (process > 0) return Forked(process);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) body();  // otherwise the parent ended before it could be watched
    _exit(0);
}

Forked::~Forked() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

ForkedTransport::ForkedTransport(MeetingPoint& meeting_point, Rank rank, int ranks)
    : meeting_point_(meeting_point) {
    topology_.rank = rank;
    topology_.size = ranks;
    topology_.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int one = 0; one < ranks; ++one) topology_.node_of.push_back(0);
    topology_.node_names = {"here"};
}

Result<Ticket> ForkedTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    if (mine.size() > MeetingPoint::kBytesMax || topology_.size > MeetingPoint::kRanksMax ||
        meetings_ == std::size(meeting_point_.meetings))
        return no_messages();
    MeetingPoint::Meeting& meeting = meeting_point_.meetings[meetings_++];
    std::memcpy(meeting.told[topology_.rank], mine.data(), mine.size());
    ++meeting.arrived;
    while (meeting.arrived < topology_.size) sched_yield();
    for (Rank rank = 0; rank < topology_.size; ++rank)
        std::memcpy(all.data() + rank * mine.size(), meeting.told[rank], mine.size());
    return Ticket{0};
}

Result<Ticket> ForkedTransport::reduce(std::span<std::uint64_t> values, ReduceOp op) {
    if (values.size() != 1 || op != ReduceOp::max) return no_messages();
    std::vector<std::uint64_t> all(static_cast<std::size_t>(topology_.size));
    auto gathered = gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
    if (gathered) values[0] = std::ranges::max(all);
    return gathered;
}

/// Waits for the doorbell as the MPI transport does. Without one, gives up the core once.
void ForkedTransport::idle(const WaitHint& wait_hint) {
    if (wait_hint.doorbell == nullptr) {
        sched_yield();
        return;
    }
    wait_until_rung(*wait_hint.doorbell, wait_hint.heard, 1ms);
}

}  // namespace oratorio::calibrate
