// SPDX-License-Identifier: BSD-3-Clause
// Transfer: whole requests over any store. Completes short transfers, retries EINTR, EAGAIN and
// ECANCELED a limited number of times, splits at the store's limits, and reports failures exactly:
// how many leading bytes of each request really moved.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>

#include "stats/stats.hpp"
#include "store/store.hpp"

namespace oratorio {

/// The outcome of one whole request.
struct Transferred {
    std::uint64_t token = 0;
    /// Leading bytes moved: all, or fewer at end of file (read) or before an error.
    Bytes bytes = 0;
    Error error = {};  ///< kind `none` on success; end of file is not an error
};

/// Performs whole requests on one store. Several transfers may share a store; each sees only its
/// own requests. Counts the store calls and their time in `stats`, if set.
class Transfer {
  public:
    /// `flush` is when the writes must have reached the server.
    explicit Transfer(Store& store, Stats* stats = nullptr, Flush flush = Flush::at_once);
    ~Transfer();  ///< waits for requests in the store: the kernel may still write to memory
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// Starts a request of any length and number of iovecs. Copies the iovec list (not the memory).
    /// Queues what the store can't accept yet.
    void start(Direction direction, Offset offset, std::span<const iovec> memory,
               std::uint64_t token);
    void start(Direction direction, Offset offset, std::span<std::byte> memory,
               std::uint64_t token);
    /// Starts a job. If the store performs no jobs, the calling thread performs the job at once.
    /// The job must stay valid until poll() has returned its token.
    void start(StoreJob& job, std::uint64_t token);
    /// Starts a request like start(), but returns true if the whole request has completed already,
    /// which happens with stores that complete requests in submit. poll() doesn't return such a
    /// request.
    [[nodiscard]] bool move_or_start(Direction direction, Offset offset,
                                     std::span<const iovec> memory, std::uint64_t token);
    /// Makes progress and stores one finished request in `out`. Returns false if none has finished.
    /// With `wait`, waits for one, and returns false only if none is outstanding.
    bool poll(Transferred& out, bool wait);
    /// Returns the number of requests that were started and that poll() has not returned yet.
    [[nodiscard]] std::size_t outstanding() const { return outstanding_; }
    /// Returns the number of requests passed to the store so far, without jobs.
    [[nodiscard]] std::uint64_t calls() const { return calls_; }

  private:
    struct Request;
    struct Part;
    friend Transferred transfer(Store& store, Stats* stats, Direction direction, Offset offset,
                                std::span<const iovec> memory, Flush flush);
    void start_from(const std::optional<IoCompletion>& answer, Request request);
    void pump();
    std::unique_ptr<Part> next_part();
    std::size_t reap(bool wait);
    [[nodiscard]] static bool is_repeated(Part& part, int number);
    [[nodiscard]] bool has_more_to_read(Part& part, int number, Bytes moved);
    void complete(std::unique_ptr<Part> part, const IoCompletion& completion);
    void close(std::unique_ptr<Part> part);

    Store& store_;
    Stats* stats_;
    const Flush flush_;
    // These are lists, because an empty list allocates nothing: many transfers are one small
    // request that completes at once.
    std::list<std::shared_ptr<Request>> waiting_;  // not yet completely cut into parts
    std::list<std::unique_ptr<Part>> ready_;       // cut, to be passed to the store (again)
    std::list<Transferred> finished_;
    std::size_t in_store_ = 0;
    std::size_t outstanding_ = 0;
    std::uint64_t calls_ = 0;
};

/// Moves one whole request from start to end. Counts calls, bytes and time in `stats`, if set.
Transferred transfer(Store& store, Stats* stats, Direction direction, Offset offset,
                     std::span<const iovec> memory, Flush flush = Flush::at_once);
Transferred transfer(Store& store, Direction direction, Offset offset, std::span<std::byte> memory);

}  // namespace oratorio
