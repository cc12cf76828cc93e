// SPDX-License-Identifier: BSD-3-Clause
#include "support/memory_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace oratorio::test {
namespace {

constexpr Bytes kStoredPage = 1 << 16;

// Calls visit(page, offset in page, offset in range, length) for each page the range touches.
template <class Visit>
void for_each_page(Offset offset, std::size_t length, Visit visit) {
    for (std::size_t done = 0; done < length;) {
        const Offset at = offset + static_cast<Offset>(done);
        const auto within = static_cast<std::size_t>(at % kStoredPage);
        const std::size_t count =
            std::min(length - done, static_cast<std::size_t>(kStoredPage) - within);
        visit(at / kStoredPage, within, done, count);
        done += count;
    }
}

}  // namespace

void MemoryDisk::read(Offset offset, std::span<std::byte> into) const {
    for_each_page(offset, into.size(), [&](Offset page, auto within, auto done, auto count) {
        const auto found = pages_.find(page);
        if (found == pages_.end()) {
            std::memset(into.data() + done, 0, count);
        } else {
            std::memcpy(into.data() + done, found->second.data() + within, count);
        }
    });
}

void MemoryDisk::write(Offset offset, std::span<const std::byte> from) {
    for_each_page(offset, from.size(), [&](Offset page, auto within, auto done, auto count) {
        auto& bytes = pages_.try_emplace(page, kStoredPage).first->second;
        std::memcpy(bytes.data() + within, from.data() + done, count);
    });
    if (!from.empty()) size_ = std::max(size_, offset + static_cast<Bytes>(from.size()));
}

void MemoryDisk::resize(Bytes bytes) {
    if (bytes < size_) {  // the bytes cut off must read as zeros when the file grows again
        pages_.erase(pages_.lower_bound((bytes + kStoredPage - 1) / kStoredPage), pages_.end());
        const auto last = pages_.find(bytes / kStoredPage);
        if (last != pages_.end()) {
            std::fill(last->second.begin() + bytes % kStoredPage, last->second.end(), std::byte{0});
        }
    }
    size_ = bytes;
}

std::vector<std::byte> MemoryDisk::contents(Extent range) const {
    const std::lock_guard alone(*mutex_);
    std::vector<std::byte> bytes(static_cast<std::size_t>(range.length()));
    read(range.begin, bytes);
    return bytes;
}

std::vector<DiskExtent> GivenPlaces::places(Extent range, std::size_t most) const {
    std::vector<DiskExtent> found;
    for (const DiskExtent& place : all_) {
        const Extent part = intersect(place.file, range);
        if (!part.empty() && found.size() < most)
            found.push_back({part, place.device + part.begin - place.file.begin});
    }
    return found;
}

MemoryStore::MemoryStore(MemoryDisk& disk, const MemoryStoreOptions& options,
                         std::function<void()> while_locked)
    : disk_(disk),
      options_(options),
      places_(options.places),
      while_locked_(std::move(while_locked)),
      random_(options.seed) {
    facts_.limits.queue_depth = options.asynchronous ? options.queue_depth : 1;
    facts_.limits.iovecs_max = options.iovecs_max;
    facts_.limits.bytes_max = options.bytes_max;
    facts_.limits.asynchronous = options.asynchronous;
    facts_.limits.mappable = options.mode.read;
    facts_.number = options.number;
    if (!options.places.empty()) facts_.disk_map = &places_;
    facts_.prefetch = options.prefetch;
}

MemoryStore::~MemoryStore() {
    if (owner_.use_count() == 1) unlock({0, std::numeric_limits<Offset>::max()});
}

Result<std::unique_ptr<Store>> MemoryStore::duplicate() {
    MemoryStoreOptions options = options_;
    options.yields = false;
    auto another = std::make_unique<MemoryStore>(disk_, options, [] { std::this_thread::yield(); });
    another->owner_ = owner_;
    return std::unique_ptr<Store>(std::move(another));
}

Submitted MemoryStore::submit(const IoRequest& request) {
    if (queued_.size() + done_.size() >= static_cast<std::size_t>(limits().queue_depth)) {
        return Submitted::full;
    }
    if (options_.asynchronous) {
        queued_.push_back(request);
        return Submitted::queued;
    }
    if (options_.yields) while_locked_();
    done_.push_back(perform(request));
    return Submitted::done;
}

std::size_t MemoryStore::reap(std::span<IoCompletion> out, bool wait) {
    while (!queued_.empty() && done_.size() < out.size()) {
        const bool must = wait && done_.empty();
        if (!must && random_.chance(options_.late_percent)) break;
        const auto chosen =
            queued_.begin() + static_cast<std::ptrdiff_t>(random_.below(queued_.size()));
        done_.push_back(perform(*chosen));
        queued_.erase(chosen);
    }
    const std::size_t count = std::min(out.size(), done_.size());
    std::copy_n(done_.begin(), count, out.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

IoCompletion MemoryStore::perform(const IoRequest& request) {
    const std::lock_guard alone(*disk_.mutex_);
    const bool reading = request.direction == Direction::read;
    ++(reading ? disk_.counters_.reads : disk_.counters_.writes);
    IoCompletion completion{.token = request.token};
    const auto failed = [&](int number) {
        completion.system_errno = number;
        return completion;
    };
    if (!(reading ? options_.mode.read : options_.mode.write)) return failed(EBADF);
    if (request.memory.size() > static_cast<std::size_t>(limits().iovecs_max))
        return failed(EINVAL);
    if (random_.chance(options_.interrupted_percent)) return failed(EINTR);
    if (random_.chance(options_.again_percent)) return failed(EAGAIN);

    Bytes asked = 0;
    for (const iovec& piece : request.memory) asked += static_cast<Bytes>(piece.iov_len);
    if (asked > limits().bytes_max) return failed(EINVAL);
    Extent range{request.offset, request.offset + asked};
    if (options_.mandatory_locks && is_denied(range, !reading)) return failed(EACCES);
    const Offset limit = std::max(request.offset, reading ? disk_.size() : disk_.capacity());
    range.end = std::min(range.end, limit);
    const Extent bad = intersect(range, reading ? options_.bad_reads : options_.bad_writes);
    if (!bad.empty()) range.end = bad.begin;
    if (range.empty() && !bad.empty()) return failed(EIO);
    if (range.empty() && asked > 0 && !reading) return failed(ENOSPC);
    if (range.length() > 1 && random_.chance(options_.short_percent)) {
        range.end = range.begin + random_.between(1, range.length() - 1);
    }

    for (const iovec& piece : request.memory) {
        const auto left = static_cast<std::size_t>(range.length() - completion.bytes);
        const std::span memory(static_cast<std::byte*>(piece.iov_base),
                               std::min(piece.iov_len, left));
        const Offset at = range.begin + completion.bytes;
        if (reading) {
            disk_.read(at, memory);
        } else {
            disk_.write(at, memory);
        }
        completion.bytes += static_cast<Bytes>(memory.size());
    }
    (reading ? disk_.counters_.bytes_read : disk_.counters_.bytes_written) +=
        static_cast<std::uint64_t>(completion.bytes);
    return completion;
}

Result<void> MemoryStore::resize(Bytes bytes, bool allocate) {
    const std::lock_guard alone(*disk_.mutex_);
    ++disk_.counters_.resizes;
    const int number = options_.resize_errno != 0 ? options_.resize_errno
                       : bytes > disk_.capacity() ? ENOSPC
                       : !options_.mode.write     ? EBADF
                                                  : 0;
    if (number != 0) return Error::make(kind_of_errno(number), "resize", number);
    disk_.resize(allocate ? std::max(bytes, disk_.size()) : bytes);
    return {};
}

Result<void> MemoryStore::sync() {
    const std::lock_guard alone(*disk_.mutex_);
    ++disk_.counters_.syncs;
    const int number = options_.sync_errno;
    if (number != 0) return Error::make(kind_of_errno(number), "sync", number);
    return {};
}

// A memory mapping of a range of the disk, simulated by a copy of the bytes.
class MemoryWindow final : public MappedWindow {
  public:
    /// Bytes in `bad` cannot be read or written, depending on `direction`.
    MemoryWindow(MemoryDisk& disk, Extent range, Direction direction, Extent bad)
        : disk_(disk),
          range_(range),
          direction_(direction),
          bad_(intersect(range, bad)),
          before_(disk.contents(range)) {
        // Bytes that cannot be stored start with odd values, so that even writing zeros to them
        // counts as a change.
        for (std::size_t at = 0; direction == Direction::write && at < before_.size(); ++at) {
            if (refusal(range.begin + static_cast<Offset>(at)) != 0)
                before_[at] = static_cast<std::byte>(at * 37 | 1);
        }
        bytes_ = before_;
    }
    // Ignores errors of the last write-back, because the guarded copy has already reported them.
    ~MemoryWindow() override { (void)write_back(); }

    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }

    Result<void> guarded(const Touch& touch) override {
        touch.call(touch.argument);
        if (direction_ == Direction::write) return write_back();
        return bad_.empty() ? Result<void>() : fault(bad_.begin, EIO);
    }

  private:
    [[nodiscard]] Error fault(Offset at, int number) const {
        return Error::make(kind_of_errno(number), "access to a mapped file", number)
            .at(at, range_.end - at);
    }

    // Returns 0 if the byte at `offset` can be stored, or else the errno.
    [[nodiscard]] int refusal(Offset offset) const {
        return bad_.contains(offset) ? EIO : offset >= disk_.capacity_ ? ENOSPC : 0;
    }

    // Writes each run of changed bytes to the disk, up to the first changed byte that cannot be
    // stored.
    Result<void> write_back() {
        const std::lock_guard alone(*disk_.mutex_);
        const auto length = direction_ == Direction::write ? bytes_.size() : 0;
        for (std::size_t at = 0; at < length;) {
            std::size_t end = at;
            int number = 0;
            for (; end < length && bytes_[end] != before_[end] && number == 0; ++end)
                number = refusal(range_.begin + static_cast<Offset>(end));
            if (number != 0) --end;
            const std::span run = std::span(bytes_).subspan(at, end - at);
            disk_.write(range_.begin + static_cast<Offset>(at), run);
            disk_.mapped_writes_ = true;
            std::ranges::copy(run, before_.begin() + static_cast<std::ptrdiff_t>(at));
            if (number != 0) return fault(range_.begin + static_cast<Offset>(end), number);
            at = end + 1;
        }
        return {};
    }

    MemoryDisk& disk_;
    Extent range_;
    Direction direction_;
    Extent bad_;
    std::vector<std::byte> before_;  // the bytes that the disk held when this window last read or
                                     // wrote them
    std::vector<std::byte> bytes_;
};

Result<Mapped> MemoryStore::map(Extent range, Direction direction, Populate populate) {
    const std::lock_guard alone(*disk_.mutex_);
    ++disk_.counters_.maps;
    disk_.counters_.populating_maps += populate == Populate::yes ? 1 : 0;
    const bool reading = direction == Direction::read;
    if (!options_.mode.read) {
        return Error::make(ErrorKind::unsupported_operation, "map: not open for reading", EACCES)
            .at(range.begin, range.length());
    }
    if (!reading && !options_.mode.write) {
        return Error::make(kind_of_errno(EBADF), "map: not open for writing", EBADF)
            .at(range.begin, range.length());
    }
    if (reading) range.end = std::min(range.end, disk_.size());
    if (range.empty()) return Mapped(range.begin, {}, nullptr);
    if (range.end > disk_.size()) {
        disk_.counters_.late_extensions += disk_.mapped_writes_ ? 1 : 0;
        disk_.resize(range.end);
    }
    const Extent bad = reading ? options_.bad_reads : options_.bad_writes;
    auto window = std::make_unique<MemoryWindow>(disk_, range, direction, bad);
    const std::span bytes = window->bytes();
    return Mapped(range.begin, bytes, std::move(window));
}

Result<void> MemoryStore::close() {
    if (owner_.use_count() == 1) unlock({0, std::numeric_limits<Offset>::max()});
    const int number = options_.close_errno;
    if (number != 0) return Error::make(kind_of_errno(number), "close", number);
    return {};
}

bool MemoryStore::conflicts(Extent range, bool exclusive) const {
    const std::lock_guard alone(*disk_.mutex_);
    return std::ranges::any_of(disk_.locks_, [&](const MemoryDisk::Lock& held) {
        return held.owner != owner_.get() && held.node == options_.node &&
               !intersect(held.range, range).empty() && (exclusive || held.exclusive);
    });
}

// Returns true if a mandatory lock forbids the transfer. A shared lock forbids all writes, even
// those of its owner.
bool MemoryStore::is_denied(Extent range, bool writes) const {
    const std::lock_guard alone(*disk_.mutex_);
    return std::ranges::any_of(disk_.locks_, [&](const MemoryDisk::Lock& held) {
        const bool denies = held.exclusive ? held.owner != owner_.get() : writes;
        return denies && !intersect(held.range, range).empty();
    });
}

// Releases the owner's locks in the range, and only there: as in the operating system, a part of a
// lock can be released. Taking a lock uses this to replace the owner's earlier locks.
void MemoryStore::unlock(Extent range) {
    const std::lock_guard alone(*disk_.mutex_);
    std::vector<MemoryDisk::Lock> kept;
    for (const MemoryDisk::Lock& held : disk_.locks_) {
        if (held.owner != owner_.get() || intersect(held.range, range).empty()) {
            kept.push_back(held);
            continue;
        }
        const Extent before{held.range.begin, range.begin};
        const Extent after{range.end, held.range.end};
        if (!before.empty()) kept.push_back({owner_.get(), before, held.exclusive, held.node});
        if (!after.empty()) kept.push_back({owner_.get(), after, held.exclusive, held.node});
    }
    disk_.locks_ = std::move(kept);
}

bool MemoryStore::try_lock(Extent range, bool exclusive) {
    const std::lock_guard alone(*disk_.mutex_);
    if (conflicts(range, exclusive)) return false;
    ++disk_.counters_.locks;
    unlock(range);
    disk_.locks_.push_back({owner_.get(), range, exclusive, options_.node});
    return true;
}

Result<void> MemoryStore::lock(Extent range, bool lock, bool exclusive) {
    if (!lock) {
        unlock(range);
        return {};
    }
    if (range.empty()) return {};
    while (!try_lock(range, exclusive)) {
        if (!while_locked_) return Error::make(ErrorKind::file_in_use, "lock", EDEADLK);
        while_locked_();
    }
    return {};
}

}  // namespace oratorio::test
