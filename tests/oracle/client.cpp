// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/client.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace oratorio::oracle {

namespace {

constexpr Bytes kDirectUnit = 512;  // direct I/O on a client that refuses some sizes must be whole
                                    // units of this many bytes
/// Chance, in percent, of each action that wander() makes the client take; a write-back is twice as
/// likely.
constexpr int kNow = 5;

Bytes length_of(std::span<const iovec> memory) {
    Bytes sum = 0;
    for (const iovec& piece : memory) sum += static_cast<Bytes>(piece.iov_len);
    return sum;
}

/// Calls visit(memory, offset) for the pieces, each cut at page boundaries, until a call returns
/// false or `most` bytes were visited. Returns the number of bytes visited.
template <class Visit>
Bytes by_pages(Offset offset, std::span<const iovec> memory, Bytes most, Visit visit) {
    Bytes done = 0;
    for (const iovec& piece : memory) {
        const std::span whole(static_cast<std::byte*>(piece.iov_base), piece.iov_len);
        for (std::size_t at = 0; at < whole.size() && done < most;) {
            const Offset place = offset + done;
            const Bytes room = std::min(kPage - place % kPage, most - done);
            const auto part = whole.subspan(at, std::min(whole.size() - at,  //
                                                         static_cast<std::size_t>(room)));
            if (!visit(part, place)) return done;
            at += part.size();
            done += std::ssize(part);
        }
    }
    return done;
}

}  // namespace

test::MemoryStoreOptions server_options(const ClientFacts& facts, int node) {
    test::MemoryStoreOptions options;
    options.mandatory_locks = facts.mandatory_locks;
    options.node = facts.locks_of_node ? node : 0;
    return options;
}

/// Waits until no other call uses the client's pages. This also runs where nothing may be thrown,
/// so when the run stops, it returns at once instead of throwing: then all fibers continue to their
/// end.
Client::Turn::Turn(Client& client) : client_(client) {
    while (client.busy_ && !client.fibers_.stopping()) {
        try {
            client.fibers_.wait([&client] { return !client.busy_; }, "its node's page cache");
        } catch (const Fibers::Stopped&) {
        }
    }
    client.busy_ = true;
}

/// Returns true if the client writes whole pages back instead of only the bytes that were written.
/// An NFS client does so unless a rank of its node holds a lock on the file; a FUSE client always
/// does.
bool Client::sends_whole_pages() const {
    return facts_.fuse || locks_ == 0;
}

/// Sends one request to the server. The transfer may be short, or fail with EINTR or EAGAIN.
ssize_t Client::ask(Connection& by, const IoRequest& request) {
    (void)by.server->submit(request);
    IoCompletion done;
    by.server->reap(std::span(&done, 1), true);
    if (done.system_errno != 0) return -done.system_errno;
    if (request.direction == Direction::read || done.bytes == 0) return done.bytes;
    // The server's answer carries the file's attributes. If this client takes them for the result
    // of its own request, it misses changes that other clients have made.
    const bool current = change_ == server_.changes++;
    if (current || (!still_ && fibers_.random().chance(50))) change_ = server_.changes;
    return done.bytes;
}

/// Writes all bytes to the server, however many requests that takes. Returns 0 or an errno.
int Client::send(Connection& by, Offset offset, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const iovec memory{bytes.data(), bytes.size()};
        const ssize_t sent = ask(by, {Direction::write, offset, std::span(&memory, 1)});
        if (sent == -EINTR || sent == -EAGAIN) continue;
        if (sent < 0) return static_cast<int>(-sent);
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
        offset += sent;
    }
    return 0;
}

/// Reads all bytes from the server, with zeros for those past the file's end. Returns 0 or an
/// errno.
int Client::fetch(Connection& by, Offset offset, std::span<std::byte> into) {
    while (!into.empty()) {
        const iovec memory{into.data(), into.size()};
        const ssize_t got = ask(by, {Direction::read, offset, std::span(&memory, 1)});
        if (got == -EINTR || got == -EAGAIN) continue;
        if (got < 0) return static_cast<int>(-got);
        if (got == 0) break;
        into = into.subspan(static_cast<std::size_t>(got));
        offset += got;
    }
    std::ranges::fill(into, std::byte{0});
    return 0;
}

/// Records a failed write-back; every open file reports it once, at its next flush or close.
void Client::note(int number) {
    if (number == 0) return;
    ++failures_;
    failure_ = number;
    change_ = UINT64_MAX;  // matches no state of the file, so the cached pages are stale
    attributes_valid_ = false;
}

void Client::send_unsent(Connection& by, std::size_t count) {
    for (; count > 0 && !unsent_.empty(); --count) {
        Unsent first = std::move(unsent_.front());
        unsent_.erase(unsent_.begin());
        note(send(by, first.offset, first.bytes));
    }
}

void Client::write_back(Connection& by, Offset base, Page& page) {
    const Extent dirty = std::exchange(page.dirty, {});
    if (dirty.empty()) return;
    const auto bytes = std::span(page.bytes)
                           .subspan(static_cast<std::size_t>(dirty.begin),
                                    static_cast<std::size_t>(dirty.length()));
    if (facts_.fuse) {
        unsent_.push_back({base + dirty.begin, {bytes.begin(), bytes.end()}});
    } else {
        note(send(by, base + dirty.begin, bytes));
    }
}

void Client::flush(Connection& by) {
    for (auto& [base, page] : pages_) write_back(by, base, page);
    send_unsent(by, unsent_.size());
}

void Client::forget() {
    std::erase_if(pages_, [](const auto& one) { return one.second.dirty.empty(); });
}

/// Does, by chance, what real clients do unprompted at any time: writes a page back and may drop
/// it, sends a write that a FUSE daemon has kept, or invalidates the file's attributes.
void Client::wander(Connection& by) {
    if (still_) return;
    test::Random& random = fibers_.random();
    if (random.chance(kNow)) attributes_valid_ = false;
    if (random.chance(kNow)) send_unsent(by, 1);
    if (pages_.empty() || !random.chance(2 * kNow)) return;
    const auto chosen =
        std::next(pages_.begin(), static_cast<std::ptrdiff_t>(random.below(pages_.size())));
    write_back(by, chosen->first, chosen->second);
    if (random.chance(50)) pages_.erase(chosen);
}

/// Updates the file's attributes if they are invalid, and drops the clean pages if other clients
/// have changed the file.
void Client::revalidate(Connection& by) {
    if (attributes_valid_) return;
    attributes_valid_ = true;
    flush(by);
    if (change_ != server_.changes) forget();
    change_ = server_.changes;
    size_ = size_seen();
}

/// Returns the file's size as this node sees it after an answer of the server.
Bytes Client::size_seen() const {
    const Bytes size = server_.storage.disk.size();
    return facts_.size_stays ? std::max(size, size_) : size;
}

void Client::open(Connection& by) {
    const Turn turn(*this);
    by.failures_seen = failures_;
    attributes_valid_ = false;
    revalidate(by);
}

/// Sets `page` to the cached page at `base`. A page that is not cached is added, and read from the
/// server if `content` is set. Returns 0 or an errno.
int Client::find(Connection& by, Offset base, bool content, Page*& page) {
    auto found = pages_.find(base);
    if (found == pages_.end()) {
        std::vector<std::byte> bytes(kPage);
        // A client does not request bytes past the file's end as it knows it, even if the file
        // has grown on the server.
        if (content && base < size_) {
            // A daemon answers its own node's reads with the writes that it keeps.
            send_unsent(by, unsent_.size());
            if (const int number = fetch(by, base, bytes); number != 0) return number;
        }
        found = pages_.emplace(base, Page{std::move(bytes), {}}).first;
    }
    page = &found->second;
    return 0;
}

ssize_t Client::read(Connection& by, Offset offset, std::span<const iovec> memory) {
    const Turn turn(*this);
    wander(by);
    if (facts_.in_step) return read_in_step(by, {Direction::read, offset, memory});
    if (by.direct) return read_direct(by, {Direction::read, offset, memory});
    revalidate(by);
    int number = 0;
    const Bytes there = std::clamp<Bytes>(size_ - offset, 0, length_of(memory));
    const Bytes done = by_pages(offset, memory, there, [&](std::span<std::byte> into, Offset at) {
        Page* page = nullptr;
        number = find(by, at / kPage * kPage, true, page);
        if (number == 0) std::copy_n(page->bytes.begin() + at % kPage, into.size(), into.begin());
        return number == 0;
    });
    return done == 0 && number != 0 ? -number : done;
}

/// Reads as a client with coherent caches. On CephFS, a read past the size that this node knows,
/// of bytes that another node has appended, returns the size minus the offset: a fault of Linux's
/// client.
ssize_t Client::read_in_step(Connection& by, const IoRequest& request) {
    const Bytes there = server_.storage.disk.size();
    const bool odd = facts_.odd_reads && request.offset > size_ && request.offset < there;
    if (odd && attributes_valid_) return size_ - request.offset;
    size_ = there;
    attributes_valid_ = true;
    return ask(by, request);
}

ssize_t Client::write_in_step(Connection& by, const IoRequest& request) {
    const ssize_t sent = ask(by, request);
    if (sent > 0) size_ = std::max(size_, request.offset + sent);
    return sent;
}

/// Reads with direct I/O. A FUSE client cuts the read off at the file's size as it knows it.
ssize_t Client::read_direct(Connection& by, const IoRequest& request) {
    const Bytes bytes = length_of(request.memory);
    if (kind_ == ClientKind::nfs_refusing && (request.offset | bytes) % kDirectUnit != 0)
        return -EINVAL;
    flush(by);
    if (!facts_.fuse) return ask(by, request);
    const Bytes there = std::clamp<Bytes>(size_ - request.offset, 0, bytes);
    if (there == 0) return 0;
    const iovec memory{request.memory.front().iov_base, static_cast<std::size_t>(there)};
    return ask(by, {Direction::read, request.offset, std::span(&memory, 1)});
}

ssize_t Client::write(Connection& by, Offset offset, std::span<const iovec> memory) {
    const Turn turn(*this);
    wander(by);
    if (facts_.in_step) return write_in_step(by, {Direction::write, offset, memory});
    if (by.direct) return write_direct(by, {Direction::write, offset, memory});
    int number = 0;
    const Bytes done =
        by_pages(offset, memory, length_of(memory), [&](std::span<std::byte> from, Offset at) {
            const Offset within = at % kPage;
            number = write_page(by, at - within, {within, within + std::ssize(from)}, from.data());
            return number == 0;
        });
    return done == 0 && number != 0 ? -number : done;
}

int Client::write_page(Connection& by, Offset base, Extent range, const std::byte* from) {
    Page* page = nullptr;
    const bool partly = range.length() < kPage;
    if (const int number = find(by, base, partly, page); number != 0) return number;
    const bool apart = page->dirty.end < range.begin || range.end < page->dirty.begin;
    const bool whole = sends_whole_pages();
    if (!whole && apart) write_back(by, base, *page);
    std::copy_n(from, range.length(), page->bytes.begin() + range.begin);
    size_ = std::max(size_, base + range.end);
    if (whole) range = {0, std::min(kPage, size_ - base)};
    Extent& dirty = page->dirty;
    if (!dirty.empty())
        range = {std::min(dirty.begin, range.begin), std::max(dirty.end, range.end)};
    dirty = range;
    return 0;
}

/// Writes with direct I/O. On NFS a write may go out as two requests, between which requests of
/// other clients may reach the server.
ssize_t Client::write_direct(Connection& by, const IoRequest& request) {
    const std::span bytes(static_cast<std::byte*>(request.memory.front().iov_base),
                          request.memory.front().iov_len);
    if (kind_ == ClientKind::nfs_refusing &&
        (request.offset | std::ssize(bytes)) % kDirectUnit != 0)
        return -EINVAL;
    flush(by);
    forget();
    ssize_t sent = std::ssize(bytes);
    if (facts_.fuse) {
        unsent_.push_back({request.offset, {bytes.begin(), bytes.end()}});
    } else {
        const auto all = static_cast<std::uint64_t>(sent);
        const auto first = static_cast<std::size_t>(1 + fibers_.random().below(all));
        const iovec one{bytes.data(), fibers_.random().chance(30) ? first : bytes.size()};
        sent = ask(by, {Direction::write, request.offset, std::span(&one, 1)});
        if (sent > 0 && static_cast<std::size_t>(sent) == one.iov_len && sent < std::ssize(bytes)) {
            const iovec two{bytes.data() + sent, bytes.size() - one.iov_len};
            const ssize_t more =
                ask(by, {Direction::write, request.offset + sent, std::span(&two, 1)});
            sent += std::max<ssize_t>(more, 0);
        }
    }
    if (sent > 0) size_ = std::max(size_, request.offset + sent);
    return sent;
}

int Client::sync(Connection& by) {
    const Turn turn(*this);
    flush(by);
    if (by.failures_seen == failures_) return 0;
    by.failures_seen = failures_;
    return -failure_;
}

int Client::resize(Connection& by, Bytes bytes, bool allocate) {
    const Turn turn(*this);
    flush(by);
    const auto resized = by.server->resize(bytes, allocate);
    if (!resized) return -resized.error().system_errno;
    ++server_.changes;
    forget();
    size_ = server_.storage.disk.size();
    return 0;
}

/// Takes or releases a lock. An NFS client, or one like it, first flushes its cache; once it has
/// taken a lock, it drops the cache.
int Client::lock(Connection& by, Extent range, bool lock, bool exclusive) {
    const Spared spared;
    const bool coherent = !facts_.fuse && !facts_.in_step;
    if (coherent) {
        const Turn turn(*this);
        flush(by);
    }
    if (const auto done = by.server->lock(range, lock, exclusive); !done) return -ENOLCK;
    const auto before = std::ssize(by.locked);
    std::erase_if(by.locked, [&](const Extent& held) { return !intersect(held, range).empty(); });
    if (lock) by.locked.push_back(range);
    locks_ += static_cast<int>(std::ssize(by.locked) - before);
    if (!lock || !coherent) return 0;
    const Turn turn(*this);
    flush(by);
    forget();
    attributes_valid_ = false;
    return 0;
}

bool Client::puts_off(Connection& by, Extent range) {
    const Spared spared;
    const auto held = by.server->is_locked_elsewhere(range);
    if (!held || !*held || !fibers_.random().chance(50)) return false;
    fibers_.idle();
    return true;
}

void Client::drop_pages() {
    const Turn turn(*this);
    forget();
}

Bytes Client::size(Connection& by, bool refresh) {
    const Turn turn(*this);
    attributes_valid_ = attributes_valid_ && !refresh && !facts_.in_step;
    revalidate(by);
    return size_;
}

int Client::close(Connection& by) {
    const Spared spared;
    const int synced = sync(by);
    locks_ -= static_cast<int>(std::ssize(by.locked));
    by.locked.clear();
    const auto closed = by.server->close();
    return closed ? synced : -closed.error().system_errno;
}

}  // namespace oratorio::oracle
