// SPDX-License-Identifier: BSD-3-Clause
// The store over io_uring: requests progress in the kernel while the caller does other work.
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "store/descriptor_store.hpp"
#include "store/transfer_calls.hpp"

namespace oratorio {
namespace {

constexpr int kDepthMax = 4096;
// Largest error number of the kernel: a result below -kErrnoMax is invalid.
constexpr int kErrnoMax = 4095;

bool is_transient(int system_errno) {
    return system_errno == EINTR || system_errno == EAGAIN || system_errno == EBUSY;
}

// Returns true for the errors of requests that the kernel doesn't support in rings or forbids only
// there, and for those of mandatory locks. Ordinary calls then perform the request.
bool is_refused_by_ring(int number) {
    return number == EINVAL || number == EOPNOTSUPP || number == ENOSYS || number == EPERM ||
           number == EACCES;
}

// Owns the kernel's ring.
class Ring {
  public:
    Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() {
        if (open_) io_uring_queue_exit(&ring_);
    }

    /// Opens the ring; called once. Returns 0 or an errno.
    int open(int queue_depth) {
        const int result = io_uring_queue_init(static_cast<unsigned>(queue_depth), &ring_, 0);
        if (result != 0) return -result;
        open_ = true;
        const int behind = behind_standard(ring_.ring_fd);
        const int reason = errno;
        if (behind < 0) ring_.ring_fd = -1;  // the descriptor was closed
        if (behind < 0) return reason;
        if (ring_.enter_ring_fd == ring_.ring_fd) ring_.enter_ring_fd = behind;
        ring_.ring_fd = behind;
        return 0;
    }
    io_uring* get() { return &ring_; }

  private:
    io_uring ring_{};
    bool open_ = false;
};

class UringStore final : public DescriptorStore {
  public:
    UringStore(OpenedDescriptor file, const OpenMode& mode, int queue_depth,
               std::unique_ptr<Ring> ring)
        : DescriptorStore(std::move(file), mode,
                          {.queue_depth = queue_depth, .asynchronous = true}),
          ring_(std::move(ring)) {
        places_.resize(static_cast<std::size_t>(queue_depth));
        free_.resize(places_.size());
        std::iota(free_.begin(), free_.end(), std::size_t{0});
    }
    ~UringStore() override { drain(); }

    Submitted submit(const IoRequest& request) override {
        if (in_kernel_ + unsent_.size() + refused_.size() >=
            static_cast<std::size_t>(limits().queue_depth)) {
            return Submitted::full;
        }
        if (broken_) {
            refused_.push_back(request);
            return Submitted::done;
        }
        const std::size_t place = free_.back();  // there is a free place, and a ring entry for it
        free_.pop_back();
        places_[place] = {request, goes_direct(request)};
        io_uring_sqe* entry = io_uring_get_sqe(ring_->get());
        prepare(entry, request, descriptor(places_[place].direct));
        if (places_[place].direct && is_registered(request.memory)) {
            const bool read = request.direction == Direction::read;
            entry->opcode = read ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
            entry->buf_index = 0;
        }
        io_uring_sqe_set_data64(entry, place);
        unsent_.push_back(place);
        send(0);
        return broken_ ? Submitted::done : Submitted::queued;
    }

    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        if (out.empty()) return 0;
        for (;;) {
            const std::size_t count = take(out);
            if (count > 0) return count;
            if (in_kernel_ + unsent_.size() == 0) return 0;
            if (!wait && unsent_.empty()) return 0;
            send(wait ? 1 : 0);
            if (!wait) return take(out);
        }
    }

    /// Registers the memory with the kernel, which then need not look up and pin its pages for each
    /// direct request. That saves half of the request's CPU cost. If the memory is larger than 1
    /// GiB or the kernel refuses (a limit on locked memory), requests work as before.
    void register_buffers(std::span<std::byte> memory) override {
        if (!registered_.empty()) io_uring_unregister_buffers(ring_->get());
        registered_ = {};
        constexpr std::size_t kRegisteredMax = 1 << 30;
        if (memory.empty() || memory.size() > kRegisteredMax) return;
        const iovec whole{memory.data(), memory.size()};
        if (io_uring_register_buffers(ring_->get(), &whole, 1) == 0) registered_ = memory;
    }

    /// Makes a posix store, without a ring, because the thread that will use the duplicate can
    /// wait.
    Result<std::unique_ptr<Store>> duplicate() override {
        auto another = duplicate_file();
        if (!another) return another.error();
        return make_posix(std::move(*another), mode());
    }

    Result<void> close() override {
        drain();
        register_buffers({});
        return DescriptorStore::close();
    }

  private:
    // A request in the ring.
    struct Place {
        IoRequest request;
        bool direct = false;
    };

    // Prepares a ring entry. A single iovec is passed by value, so that the kernel copies no list.
    static void prepare(io_uring_sqe* entry, const IoRequest& request, int file) {
        const auto count = static_cast<unsigned>(request.memory.size());
        const auto offset = static_cast<std::uint64_t>(request.offset);
        const bool read = request.direction == Direction::read;
        if (count == 1) {
            const iovec& one = request.memory.front();
            const auto bytes = static_cast<unsigned>(one.iov_len);  // at most limits().bytes_max
            read ? io_uring_prep_read(entry, file, one.iov_base, bytes, offset)
                 : io_uring_prep_write(entry, file, one.iov_base, bytes, offset);
        } else {
            read ? io_uring_prep_readv(entry, file, request.memory.data(), count, offset)
                 : io_uring_prep_writev(entry, file, request.memory.data(), count, offset);
        }
    }

    [[nodiscard]] bool is_registered(std::span<const iovec> memory) const {
        if (registered_.empty() || memory.size() != 1) return false;
        const auto* const begin = static_cast<const std::byte*>(memory.front().iov_base);
        const std::less_equal<const std::byte*> no_later;
        return no_later(registered_.data(), begin) &&
               no_later(begin + memory.front().iov_len, registered_.data() + registered_.size());
    }

    // Submits new entries to the kernel and waits for `wanted` completions.
    void send(unsigned wanted) {
        if (broken_) {  // the unsent entries are in refused_ and must not be sent
            io_uring_cqe* entry = nullptr;
            if (wanted > 0) io_uring_wait_cqe(ring_->get(), &entry);
            return;
        }
        const int sent = io_uring_submit_and_wait(ring_->get(), wanted);
        if (sent >= 0) {
            in_kernel_ += static_cast<std::size_t>(sent);
            unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
        }
        transient_ = sent < 0 ? transient_ + 1 : 0;
        if (sent < 0 && (!is_transient(-sent) || transient_ >= kInterruptionsMax)) give_up_ring();
    }

    /// Stops using the ring, which accepts no more requests, for example because the process has
    /// entered a sandbox. Requests that the ring has accepted still complete; ordinary calls
    /// perform all others.
    void give_up_ring() {
        broken_ = true;
        set_remark("io_uring: the kernel refuses requests; using ordinary calls instead");
        for (const std::size_t place : unsent_) refused_.push_back(vacate(place).request);
        unsent_.clear();
    }

    [[nodiscard]] IoCompletion by_calls(const IoRequest& request) {
        return completion_of(
            request, past_locks(request, [&] { return calls_.move(request, descriptor()); }));
    }

    std::size_t take(std::span<IoCompletion> out) {
        std::size_t count = 0;
        while (count < out.size() && !refused_.empty()) {
            out[count++] = by_calls(refused_.front());
            refused_.pop_front();
        }
        io_uring_cqe* entry = nullptr;
        while (count < out.size() && in_kernel_ > 0 &&
               io_uring_peek_cqe(ring_->get(), &entry) == 0) {
            const Place place = vacate(io_uring_cqe_get_data64(entry));
            const int result = entry->res;
            io_uring_cqe_seen(ring_->get(), entry);
            --in_kernel_;
            out[count++] = completed(place, result);
        }
        return count;
    }

    [[nodiscard]] IoCompletion completed(const Place& place, int result) {
        int number = result < 0 ? -result : 0;
        if (number > kErrnoMax) number = kInvalidResult;
        if (place.direct && number == EINVAL) {
            give_up_direct();
            number = EAGAIN;  // the repeated request uses the page cache
        }
        if (!place.direct && is_refused_by_ring(number)) return by_calls(place.request);
        return {place.request.token, std::max(result, 0), number};
    }

    Place vacate(std::size_t place) {
        free_.push_back(place);
        return places_[place];
    }

    // Waits for all requests: the kernel may write to the caller's memory until they complete.
    void drain() {
        std::array<IoCompletion, 32> dropped;
        while (reap(dropped, true) > 0) {
        }
    }

    std::unique_ptr<Ring> ring_;
    std::span<std::byte> registered_;  // registered with the kernel, as its buffer 0
    bool broken_ = false;              // the ring refuses entries
    int transient_ = 0;                // successive transient failures
    std::size_t in_kernel_ = 0;
    std::vector<Place> places_;  // requests in the ring, which identifies them by their index here
    std::vector<std::size_t> free_;
    std::deque<std::size_t> unsent_;  // indices not yet submitted to the kernel
    std::deque<IoRequest> refused_;
    TransferCalls calls_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_uring(const std::string& path, const OpenMode& mode,
                                          int queue_depth) {
    // The ring is opened first: without a ring, this function must not create the file, because the
    // caller then opens it with another store.
    queue_depth = std::clamp(queue_depth, 1, kDepthMax);
    auto ring = std::make_unique<Ring>();
    if (const int number = ring->open(queue_depth); number != 0) {
        return Error::make(ErrorKind::unsupported_operation,
                           "io_uring: the kernel refuses to set up a queue", number);
    }
    auto file = open_descriptor(path, mode);
    if (!file) return file.error();
    return std::unique_ptr<Store>(
        std::make_unique<UringStore>(std::move(*file), mode, queue_depth, std::move(ring)));
}

}  // namespace oratorio
