// SPDX-License-Identifier: BSD-3-Clause
// Transfer: whole requests over any store. Completes short transfers, retries EINTR and EAGAIN
// (bounded), splits at the store's limits, and tells the truth of failures: it reports how many
// leading bytes of each request really moved.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>

#include "stats/stats.hpp"
#include "store/store.hpp"

namespace oratorio {

/// What became of one whole request.
struct Transferred {
    std::uint64_t token = 0;
    Bytes bytes =
        0;  ///< leading bytes moved: all, or less at end of file (read) or before an error
    Error error = {};  ///< kind none when all went well; end of file is not an error
};

/// Several transfers may share one store; each sees only its own requests. `stats`, if there are
/// any, are told of the calls to the store and the time in them.
class Transfer {
  public:
    explicit Transfer(Store& store, Stats* stats = nullptr);
    ~Transfer();  ///< waits for what the store holds: the kernel may still write into the memory
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// Copies the iovec list (not the memory). Any length, any number of iovecs; never "full": it
    /// queues.
    void start(Direction direction, Offset offset, std::span<const iovec> memory,
               std::uint64_t token);
    void start(Direction direction, Offset offset, std::span<std::byte> memory,
               std::uint64_t token);
    /// As start, but true when everything has been moved already, as a store does that completes
    /// requests when they are submitted: poll doesn't give that out.
    [[nodiscard]] bool move_or_start(Direction direction, Offset offset,
                                     std::span<const iovec> memory, std::uint64_t token);
    /// One request, start to end, where no others are outstanding; its bytes are counted, too.
    Transferred move(Direction direction, Offset offset, std::span<const iovec> memory);
    /// Moves things on; false when nothing finished. At most one finished request per call.
    bool poll(Transferred& out, bool wait);
    /// Requests started and not yet given out by poll.
    [[nodiscard]] std::size_t outstanding() const { return outstanding_; }
    /// Requests handed to the store so far.
    [[nodiscard]] std::uint64_t calls() const { return calls_; }

  private:
    struct Request;
    struct Part;
    std::optional<IoCompletion> at_once(Direction direction, Offset offset,
                                        std::span<const iovec> memory, Bytes total);
    void pump();
    std::unique_ptr<Part> next_part();
    std::size_t reap(bool wait);
    [[nodiscard]] static bool is_repeated(Part& part, int number);
    [[nodiscard]] bool has_more_to_read(Part& part, int number, Bytes moved);
    void complete(std::unique_ptr<Part> part, const IoCompletion& completion);
    void close(std::unique_ptr<Part> part);

    void count_call();

    Store& store_;
    Stats* stats_;
    // Lists, as empty ones cost nothing: many a transfer is one small request done at once.
    std::list<std::shared_ptr<Request>> waiting_;  // not yet wholly cut into parts
    std::list<std::unique_ptr<Part>> ready_;       // cut, to be handed to the store (again)
    std::list<Transferred> finished_;
    std::size_t in_store_ = 0;
    std::size_t outstanding_ = 0;
    std::uint64_t calls_ = 0;
};

/// One whole request, start to end.
Transferred transfer(Store& store, Direction direction, Offset offset, std::span<std::byte> memory);

}  // namespace oratorio
