// SPDX-License-Identifier: BSD-3-Clause
// What it costs several processes to use one file side by side, as ranks do. Writers wait for each
// other at its lock, and where it gets its pages; readers at the count of a page's users, and for
// whoever brings the bytes from a server.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/buffer_pool.hpp"
#include "forked.hpp"
#include "plan/methods.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "store/transfer.hpp"

namespace oratorio::calibrate {
namespace {

constexpr unsigned kProcesses = 4;
constexpr Bytes kStretch = 64 << 10;  // of a mapping, before it is another writer's turn
constexpr Bytes kReadPiece = 1024;    // several of a page

/// Where the writers wait for each other.
struct Gate {
    std::atomic<int> ready{0};
    std::atomic<bool> open{false};
    std::atomic<int> done{0};
    std::atomic<int> failed{0};
};

/// Which part of the file is whose, where they stay apart.
Extent share_of(Bytes bytes, int process) {
    const Bytes share = bytes / Bytes{kProcesses};
    return {process * share, (process + 1) * share};
}

/// In calls of so many bytes, which begin so far apart, with a buffer that begins with a page, as
/// the library's own do.
bool move(Store& store, Direction direction, Extent range, Bytes call, Bytes step) {
    BufferPool pool;
    const auto taken = pool.take(call);
    const std::span buffer = taken.span();
    if (buffer.empty()) return false;
    std::ranges::fill(buffer, std::byte{1});
    for (Offset at = range.begin; at < range.end; at += step) {
        const auto left = static_cast<std::size_t>(range.end - at);
        const Transferred done =
            transfer(store, direction, at, buffer.first(std::min(buffer.size(), left)));
        if (done.error.kind != ErrorKind::none) return false;
    }
    return true;
}
bool move(Store& store, Direction direction, Extent range, Bytes call) {
    return move(store, direction, range, call, call);
}
/// Each has every so many calls: what they do beside each other all along.
bool move_dealt(Store& store, Direction direction, Bytes bytes, Bytes call, int process) {
    return move(store, direction, {process * call, bytes}, call, kProcesses * call);
}

bool write_share(Store& store, Bytes bytes, int writer) {
    return move(store, Direction::write, share_of(bytes, writer), kSharedSlotBytes);
}
/// Whose calls ask a server wait for the same client. Pages in memory are each reader's own work:
/// one reads them all.
Extent read_by(const Store& store, Bytes bytes, int reader) {
    if (asks_server(store)) return share_of(bytes, reader);
    return reader == 0 ? Extent{0, bytes} : Extent{};
}
bool read_largely(Store& store, Bytes bytes, int reader) {
    return move(store, Direction::read, read_by(store, bytes, reader), kSharedSlotBytes);
}
bool read_pages(Store& store, Bytes bytes, int reader) {
    return move(store, Direction::read, read_by(store, bytes, reader), kPage);
}

bool write_dealt(Store& store, Bytes bytes, int writer) {
    return move_dealt(store, Direction::write, bytes, kPage, writer);
}

/// Pages of which each reader wants a piece, all at the same time.
bool read_dealt(Store& store, Bytes bytes, int reader) {
    return move_dealt(store, Direction::read, bytes, kReadPiece, reader);
}

/// As many pieces, of pages that nobody else reads.
bool read_apart(Store& store, Bytes bytes, int reader) {
    return move(store, Direction::read, share_of(bytes, reader), kReadPiece);
}

/// A byte of each page.
bool map_read(Store& store, Bytes bytes, int reader) {
    const Extent all = read_by(store, bytes, reader);
    for (Offset begin = all.begin; begin < all.end; begin += kMapWindowBytes) {
        const Extent window{begin, std::min(begin + kMapWindowBytes, all.end)};
        auto mapped = store.map(window, Direction::read, Populate::yes);
        if (!mapped) return false;
        volatile std::byte* const first = mapped->bytes().data();
        const Bytes end = std::ssize(mapped->bytes());
        const auto touched = mapped->guarded([&] {
            for (Bytes at = 0; at < end; at += kPage) (void)first[at];
        });
        if (!touched) return false;
    }
    return true;
}

/// A byte of each page of its stretches, which interleave with those of the others.
bool map_write_share(Store& store, Bytes bytes, int writer) {
    for (Offset begin = 0; begin < bytes; begin += kMapWindowBytes) {
        const Extent window{begin, std::min(begin + kMapWindowBytes, bytes)};
        auto mapped = store.map(window, Direction::write, Populate::no);
        if (!mapped) return false;
        volatile std::byte* const first = mapped->bytes().data();
        const auto touched = mapped->guarded([&] {
            for (Bytes stretch = writer * kStretch; stretch < window.length();
                 stretch += kProcesses * kStretch) {
                const Bytes end = std::min(stretch + kStretch, window.length());
                for (Bytes at = stretch; at < end; at += kPage) first[at] = std::byte{2};
            }
        });
        if (!touched) return false;
    }
    return true;
}

/// How the file is before they begin.
Result<void> empty(Store& store, Bytes) {
    return store.resize(0, false);
}
Result<void> long_without_data(Store& store, Bytes bytes) {
    if (auto emptied = store.resize(0, false); !emptied) return emptied;
    const auto last = store.map({bytes - 1, bytes}, Direction::write, Populate::no);
    if (!last) return last.error();
    return {};
}
/// Written anew, in large calls: how pages lie in the cache depends on the calls that made them.
Result<void> full(Store& store, Bytes bytes) {
    if (auto emptied = store.resize(0, false); !emptied) return emptied;
    if (!move(store, Direction::write, {0, bytes}, kSharedSlotBytes))
        return Error::make(ErrorKind::other, "can't write the scratch file");
    return {};
}

using Share = bool (*)(Store&, Bytes, int);
using Prepare = Result<void> (*)(Store&, Bytes);

/// From when all are ready to when the last is done.
Result<Nanoseconds> side_by_side(Store& store, Bytes bytes, Share share, Prepare prepare) {
    const auto gate = make_shared_memory<Gate>();
    if (gate == nullptr) return Error::make(ErrorKind::no_memory, "memory for several processes");
    if (const auto prepared = prepare(store, bytes); !prepared) return prepared.error();
    std::vector<Forked> writers;
    for (int writer = 0; writer < static_cast<int>(kProcesses); ++writer) {
        auto started = Forked::start([&, writer] {
            gate->ready += 1;
            while (!gate->open) usleep(50);
            if (!share(store, bytes, writer)) gate->failed += 1;
            gate->done += 1;
        });
        if (!started) return started.error();
        writers.push_back(std::move(*started));
    }
    constexpr Nanoseconds kTooLong = 60e9;
    const Stopwatch waiting;
    while (gate->ready < static_cast<int>(kProcesses) && waiting.elapsed() < kTooLong) usleep(100);
    gate->open = true;
    const Stopwatch watch;
    while (gate->done < static_cast<int>(kProcesses) && watch.elapsed() < kTooLong) usleep(100);
    if (gate->done < static_cast<int>(kProcesses) || gate->failed > 0)
        return Error::make(ErrorKind::other, "a helper process can't use the scratch file");
    return watch.elapsed();
}

}  // namespace

Result<void> measure_several(Session& session, const std::string& folder) {
    auto stores = open_scratch(folder, 1, false);
    if (!stores) return stores.error();
    Store& store = *stores->front();
    const Bytes data = session.scale().data;
    const Bytes small = data_of_small_calls(store, session.scale());
    const auto probe = [&](std::string_view what, Bytes bytes, Share share, Prepare prepare) {
        return Probe{what, [&store, bytes, share, prepare] {
                         return side_by_side(store, bytes, share, prepare);
                     }};
    };
    std::vector<Probe> probes{probe("large writes side by side", data, write_share, empty),
                              probe("small writes side by side", small, write_dealt, empty),
                              probe("large reads", data, read_largely, full),
                              probe("small reads", small, read_pages, full),
                              probe("small reads of the same pages", small, read_dealt, full),
                              probe("small reads of other pages", small, read_apart, full)};
    if (store.limits().mappable) {
        probes.push_back(probe("pages mapped to be read", data, map_read, full));
        probes.push_back(
            probe("pages mapped to be written", data, map_write_share, long_without_data));
    }
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const auto bytes = static_cast<double>(small);
    const double share = bytes / static_cast<double>(data);
    const double large = bytes / kSharedSlotBytes;
    const double pages = static_cast<double>(data) / kPage;
    // Where nobody waits for another a core's time counts.
    const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, kProcesses);
    const Line written = fit(bytes, share * (*times)[0], large, (*times)[1], bytes / kPage);
    const Line read = fit(bytes, share * (*times)[2], large, (*times)[3], bytes / kPage);
    session.measured("contended_byte", written.byte);
    session.measured("contended_call", written.piece);
    const unsigned readers = asks_server(store) ? cores : 1;
    session.measured("read_byte", readers * read.byte);
    session.measured("read_call", readers * read.piece);
    session.measured("shared_read", ((*times)[4] - (*times)[5]) * cores * kReadPiece / bytes);
    if (!store.limits().mappable) {
        for (const char* name : {"map_read_page", "map_write_page"})
            session.kept(name, kUnmappable);
        return {};
    }
    session.measured("map_read_page", (*times)[6] / pages);
    session.measured("map_write_page", (*times)[7] * cores / pages);
    return {};
}

}  // namespace oratorio::calibrate
