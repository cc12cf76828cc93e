// SPDX-License-Identifier: BSD-3-Clause
#include "store/transfer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system_call.hpp"

namespace oratorio {
namespace {

constexpr std::string_view kDenied =
    "access denied, or another handle has locked these bytes (this file system's locks are "
    "mandatory)";

// Returns true if a request should be repeated. ECANCELED counts, because when a thread ends,
// io_uring cancels the requests that this thread has started.
bool is_retriable(int system_errno) {
    return system_errno == EAGAIN || system_errno == ECANCELED;
}

// Returns the part of a request that can bypass the page cache. It begins at the first aligned file
// offset and extends as long as the memory is aligned. The lengths of all its iovecs but the last
// are multiples of the file's alignment, so that the part can be cut between any two iovecs.
Extent direct_part(Offset offset, std::span<const iovec> memory, const DirectAlignment& alignment) {
    if (alignment.file == 0) return {};
    const Bytes begin = (alignment.file - offset % alignment.file) % alignment.file;
    Bytes at = 0;
    Bytes end = begin;
    for (const iovec& piece : memory) {
        const Bytes next = at + static_cast<Bytes>(piece.iov_len);
        if (next > begin && piece.iov_len > 0) {
            const Bytes skipped = std::max<Bytes>(begin - at, 0);
            const auto address = reinterpret_cast<std::uintptr_t>(piece.iov_base) +
                                 static_cast<std::uintptr_t>(skipped);
            if (address % static_cast<std::uintptr_t>(alignment.memory) != 0) break;
            const Bytes usable = (next - at - skipped) / alignment.file * alignment.file;
            end = at + skipped + usable;
            if (end != next) break;
        }
        at = next;
    }
    return {begin, end};
}

void count_call(Stats* stats) {
    if (stats != nullptr) ++stats->storage_calls;
}

/// Submits the whole request at once, if the store completes requests in submit; this makes small
/// requests cheap. Returns the completion, or nothing if the request must be cut or started as
/// usual. REQUIRES: the store has no requests of the same transfer.
std::optional<IoCompletion> move_at_once(Store& store, Stats* stats, const IoRequest& request,
                                         Bytes total) {
    const StoreLimits& limits = store.limits();
    const std::span<const iovec> memory = request.memory;
    if (limits.asynchronous || limits.direct(request.direction).file > 0) return std::nullopt;
    if (total == 0 || total > limits.bytes_max ||
        memory.size() > static_cast<std::size_t>(limits.iovecs_max))
        return std::nullopt;
    const bool has_empty = memory.size() > 1 && std::ranges::any_of(memory, [](const iovec& piece) {
                               return piece.iov_len == 0;
                           });
    if (has_empty) return std::nullopt;
    const Timing timing(stats, &Stats::storage_time);
    if (request.direction == Direction::read) store.expect_size(request.offset + total);
    if (store.submit(request) != Submitted::done) return std::nullopt;
    count_call(stats);
    IoCompletion completion;
    store.reap(std::span(&completion, 1), true);
    return completion;
}

bool is_whole(const std::optional<IoCompletion>& answer, Bytes total) {
    return answer && answer->system_errno == 0 && answer->bytes == total;
}

}  // namespace

struct Transfer::Request {
    Direction direction;
    Offset offset;
    std::uint64_t token;
    std::vector<iovec> memory;
    StoreJob* job = nullptr;  // null: a transfer
    Bytes total = 0;
    Bytes cut = 0;       // leading bytes already cut into parts
    Extent direct = {};  // the bytes that can bypass the page cache; no part crosses its ends
    Bytes stop = 0;    // where the first failure so far is, or `total`; bytes after it don't count
    Error error = {};  // why the request stops at `stop`; kind `none` at end of file
    int open_parts = 0;   // parts cut and not closed
    std::size_t iov = 0;  // index of the iovec where the next part begins
    std::size_t iov_used = 0;

    [[nodiscard]] bool fully_cut() const { return cut == total || stop < total; }
    // Returns the maximum size of the next part.
    [[nodiscard]] Bytes part_bytes(const StoreLimits& limits) const {
        if (direct.empty() || cut >= direct.end) return limits.bytes_max;
        if (cut < direct.begin) return std::min(limits.bytes_max, direct.begin - cut);
        const Bytes unit = std::max<Bytes>(limits.direct(direction).file, 1);
        const Bytes whole = std::max(limits.bytes_max / unit * unit, unit);
        return std::min(whole, direct.end - cut);
    }
};

// The bytes of one request to the store. While the store has the request, its token is the address
// of this part.
struct Transfer::Part {
    Transfer* owner;
    std::shared_ptr<Request> request;
    Bytes begin;  // within the request
    Bytes length = 0;
    Bytes moved = 0;
    std::vector<iovec> memory = {};
    std::size_t first = 0;  // iovecs before this one are done
    int retries = 0;
    int interruptions = 0;
    bool size_asked = false;  // the server was asked for the file size since bytes last moved

    void advance(Bytes bytes) {
        moved += bytes;
        auto left = static_cast<std::size_t>(bytes);
        while (left > 0 && left >= memory[first].iov_len) left -= memory[first++].iov_len;
        if (left == 0) return;
        memory[first].iov_base = static_cast<std::byte*>(memory[first].iov_base) + left;
        memory[first].iov_len -= left;
    }
    void stop(Error error) const {
        const Bytes at = begin + moved;
        if (at >= request->stop) return;
        request->stop = at;
        request->error =
            error.kind == ErrorKind::none ? error : error.at(request->offset + at, length - moved);
    }
};

Transfer::Transfer(Store& store, Stats* stats, Flush flush)
    : store_(store), stats_(stats), flush_(flush) {}

Transfer::~Transfer() {
    waiting_.clear();
    ready_.clear();
    while (in_store_ > 0 && reap(true) > 0) ready_.clear();
}

void Transfer::start(Direction direction, Offset offset, std::span<const iovec> memory,
                     std::uint64_t token) {
    if (!move_or_start(direction, offset, memory, token)) return;
    ++outstanding_;
    finished_.push_back({.token = token, .bytes = length_of(memory)});
}

void Transfer::start(StoreJob& job, std::uint64_t token) {
    ++outstanding_;
    if (!store_.limits().performs_jobs) {
        job.perform(store_);
        finished_.push_back({.token = token});
        return;
    }
    // A job is a request of one part, which can neither be cut nor be short.
    auto request = std::make_shared<Request>(Request{
        .direction = Direction::write, .offset = 0, .token = token, .memory = {}, .job = &job});
    request->stop = 1;
    request->open_parts = 1;
    ready_.push_back(std::unique_ptr<Part>(new Part{this, std::move(request), 0}));
    pump();
}

bool Transfer::move_or_start(Direction direction, Offset offset, std::span<const iovec> memory,
                             std::uint64_t token) {
    const Bytes total = length_of(memory);
    std::optional<IoCompletion> answer;
    if (waiting_.empty() && ready_.empty() && in_store_ == 0)
        answer =
            move_at_once(store_, stats_, {direction, offset, memory, 0, nullptr, flush_}, total);
    calls_ += answer ? 1 : 0;
    if (is_whole(answer, total)) return true;
    start_from(answer, {direction, offset, token, {memory.begin(), memory.end()}});
    return false;
}

/// Starts a request. If move_at_once() has already submitted the whole request, `answer` is its
/// completion by the store, and only the rest of the request is submitted.
void Transfer::start_from(const std::optional<IoCompletion>& answer, Request made) {
    ++outstanding_;
    auto request = std::make_shared<Request>(std::move(made));
    request->total = request->stop = length_of(request->memory);
    request->direct =
        direct_part(request->offset, request->memory, store_.limits().direct(request->direction));
    if (request->total == 0) {
        finished_.push_back({.token = request->token});
        return;
    }
    waiting_.push_back(std::move(request));
    if (answer) {
        ++in_store_;
        complete(next_part(), *answer);
    }
    pump();
}

void Transfer::start(Direction direction, Offset offset, std::span<std::byte> memory,
                     std::uint64_t token) {
    const iovec whole{memory.data(), memory.size()};
    start(direction, offset, std::span(&whole, 1), token);
}

bool Transfer::poll(Transferred& out, bool wait) {
    while (finished_.empty()) {
        if (outstanding_ == 0) return false;
        pump();
        reap(wait);
        if (!wait) break;
    }
    if (finished_.empty()) return false;
    out = finished_.front();
    finished_.pop_front();
    --outstanding_;
    return true;
}

// Passes parts to the store until it is full.
void Transfer::pump() {
    const Timing timing(stats_, &Stats::storage_time);
    for (;;) {
        if (ready_.empty()) {
            auto part = next_part();
            if (!part) return;
            ready_.push_back(std::move(part));
        }
        Part& part = *ready_.front();
        const Request& request = *part.request;
        if (part.begin >= request.stop) {  // an earlier part failed: these bytes don't count
            auto unneeded = std::move(ready_.front());
            ready_.pop_front();
            close(std::move(unneeded));
            continue;
        }
        const IoRequest io{request.direction,
                           request.offset + part.begin + part.moved,
                           std::span(part.memory).subspan(part.first),
                           reinterpret_cast<std::uintptr_t>(&part),
                           request.job,
                           flush_};
        if (request.direction == Direction::read && part.moved == 0)
            store_.expect_size(request.offset + part.begin + part.length);
        if (store_.submit(io) == Submitted::full) return;
        if (request.job == nullptr) {
            count_call(stats_);
            ++calls_;
        }
        ++in_store_;
        (void)ready_.front().release();  // reap() takes it back
        ready_.pop_front();
    }
}

std::unique_ptr<Transfer::Part> Transfer::next_part() {
    while (!waiting_.empty() && waiting_.front()->fully_cut()) waiting_.pop_front();
    if (waiting_.empty()) return nullptr;
    Request& request = *waiting_.front();
    const StoreLimits& limits = store_.limits();
    std::unique_ptr<Part> part(new Part{this, waiting_.front(), request.cut});
    const Bytes most = request.part_bytes(limits);
    while (request.iov < request.memory.size() && part->length < most &&
           part->memory.size() < static_cast<std::size_t>(limits.iovecs_max)) {
        const iovec& piece = request.memory[request.iov];
        const auto room = static_cast<std::size_t>(most - part->length);
        const std::size_t taken = std::min(piece.iov_len - request.iov_used, room);
        if (taken > 0) {
            part->memory.push_back(
                {static_cast<std::byte*>(piece.iov_base) + request.iov_used, taken});
        }
        part->length += static_cast<Bytes>(taken);
        request.iov_used += taken;
        if (request.iov_used == piece.iov_len) {
            ++request.iov;
            request.iov_used = 0;
        }
    }
    request.cut += part->length;
    ++request.open_parts;
    return part;
}

// Reaps completions. Other transfers may share the store, so each completion goes to the transfer
// that owns its part.
std::size_t Transfer::reap(bool wait) {
    const Timing timing(stats_, &Stats::storage_time);
    std::array<IoCompletion, 32> completions;
    const std::size_t count = store_.reap(completions, wait);
    for (const IoCompletion& completion : std::span(completions).first(count)) {
        auto* part = reinterpret_cast<Part*>(static_cast<std::uintptr_t>(completion.token));
        part->owner->complete(std::unique_ptr<Part>(part), completion);
    }
    return count;
}

bool Transfer::is_repeated(Part& part, int number) {
    if (number == EINTR) return ++part.interruptions < kInterruptionsMax;
    return is_retriable(number) && ++part.retries <= kRetriesMax;
}

/// Returns true if a read that failed or met the end of the file should be repeated, because the
/// file is longer than this machine knew. Asks the server for the size, but only once until more
/// bytes have moved.
bool Transfer::has_more_to_read(Part& part, int number, Bytes moved) {
    const Request& request = *part.request;
    const bool ended = number != 0 || moved == 0;
    if (request.direction == Direction::write || !ended || part.size_asked ||
        !store_.limits().size_may_be_old)
        return false;
    part.size_asked = true;
    store_.forget_size();
    const auto size = store_.size();
    return size && *size > request.offset + part.begin + part.moved;
}

void Transfer::complete(std::unique_ptr<Part> part, const IoCompletion& completion) {
    --in_store_;
    if (part->request->job != nullptr) {
        finished_.push_back({.token = part->request->token});
        return;
    }
    const Direction direction = part->request->direction;
    int number = completion.system_errno;
    if (completion.bytes > part->length - part->moved) number = kInvalidResult;
    if (is_repeated(*part, number) || has_more_to_read(*part, number, completion.bytes)) {
        ready_.push_front(std::move(part));
        return;
    }
    if (number != 0) {
        const bool denied = number == EACCES && store_.kind().mandatory_locks;
        part->stop(Error::of_errno(denied ? kDenied : name_of(direction), number));
    } else if (completion.bytes > 0) {
        part->retries = part->interruptions = 0;
        part->size_asked = false;
        part->advance(completion.bytes);
        if (part->moved < part->length) {
            ready_.push_front(std::move(part));
            return;
        }
    } else if (direction == Direction::write) {
        part->stop(Error::make(ErrorKind::io, "write: the system wrote no bytes"));
    } else {
        part->stop(Error{});  // end of file
    }
    close(std::move(part));
}

void Transfer::close(std::unique_ptr<Part> part) {
    Request& request = *part->request;
    if (--request.open_parts > 0 || !request.fully_cut()) return;
    finished_.push_back({request.token, request.stop, request.error});
}

Transferred transfer(Store& store, Stats* stats, Direction direction, Offset offset,
                     std::span<const iovec> memory, Flush flush) {
    const Bytes total = length_of(memory);
    const auto answer =
        move_at_once(store, stats, {direction, offset, memory, 0, nullptr, flush}, total);
    Transferred done{.bytes = total};
    if (!is_whole(answer, total)) {
        Transfer rest(store, stats, flush);
        rest.start_from(answer, {direction, offset, 0, {memory.begin(), memory.end()}});
        while (!rest.poll(done, true)) {
        }
    }
    if (stats != nullptr)
        (direction == Direction::read ? stats->bytes_loaded : stats->bytes_stored) +=
            static_cast<std::uint64_t>(done.bytes);
    return done;
}

Transferred transfer(Store& store, Direction direction, Offset offset,
                     std::span<std::byte> memory) {
    const iovec whole{memory.data(), memory.size()};
    return transfer(store, nullptr, direction, offset, std::span(&whole, 1));
}

}  // namespace oratorio
