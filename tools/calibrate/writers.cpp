// SPDX-License-Identifier: BSD-3-Clause
// What it costs that several processes use one file side by side. Writers wait for each other at
// its lock, and where it gets its pages; readers at the count of a page's users.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "forked.hpp"
#include "plan/methods.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "store/transfer.hpp"

namespace oratorio::calibrate {
namespace {

constexpr int kWriters = 4;
constexpr Bytes kPage = 4096;
constexpr Bytes kStretch = 64 << 10;  // of a mapping, before it is another writer's turn
constexpr Bytes kReadPiece = 1024;    // several of a page

/// Where the writers wait for each other.
struct Gate {
    std::atomic<int> ready{0};
    std::atomic<bool> open{false};
    std::atomic<int> done{0};
    std::atomic<int> failed{0};
};

/// Its share of the file, in large calls, from a buffer of its own.
bool write_share(Store& store, Bytes bytes, int writer) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(kSharedSlotBytes), std::byte{1});
    const Bytes share = bytes / kWriters;
    for (Offset at = writer * share; at < (writer + 1) * share; at += kSharedSlotBytes) {
        const auto left = static_cast<std::size_t>((writer + 1) * share - at);
        const Transferred done = transfer(store, Direction::write, at,
                                          std::span(buffer).first(std::min(buffer.size(), left)));
        if (done.error.kind != ErrorKind::none) return false;
    }
    return true;
}

/// Every so many pieces, each in a call of its own: what the writers do beside each other all
/// along.
bool write_dealt(Store& store, Bytes bytes, int writer) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(kPage), std::byte{3});
    for (Offset at = writer * kPage; at + kPage <= bytes; at += kWriters * kPage) {
        const Transferred done = transfer(store, Direction::write, at, buffer);
        if (done.error.kind != ErrorKind::none) return false;
    }
    return true;
}

bool read_pieces(Store& store, Offset begin, Offset end, Bytes step) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(kReadPiece));
    for (Offset at = begin; at + kReadPiece <= end; at += step) {
        const Transferred done = transfer(store, Direction::read, at, buffer);
        if (done.error.kind != ErrorKind::none) return false;
    }
    return true;
}

/// Pages of which each reader wants a piece, all at the same time.
bool read_dealt(Store& store, Bytes bytes, int reader) {
    return read_pieces(store, reader * kReadPiece, bytes, kWriters * kReadPiece);
}

/// As many pieces, of pages that nobody else reads.
bool read_apart(Store& store, Bytes bytes, int reader) {
    const Bytes share = bytes / kWriters;
    return read_pieces(store, reader * share, (reader + 1) * share, kReadPiece);
}

/// A byte of each page of its stretches, which interleave with those of the others.
bool map_share(Store& store, Bytes bytes, int writer) {
    for (Offset begin = 0; begin < bytes; begin += kMapWindowBytes) {
        const Extent window{begin, std::min(begin + kMapWindowBytes, bytes)};
        auto mapped = store.map(window, Direction::write, Populate::no);
        if (!mapped) return false;
        volatile std::byte* const first = mapped->bytes().data();
        const auto touched = mapped->guarded([&] {
            for (Bytes stretch = writer * kStretch; stretch < window.length();
                 stretch += kWriters * kStretch) {
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
Result<void> full(Store& store, Bytes bytes) {
    for (int writer = 0; writer < kWriters; ++writer) {
        if (!write_share(store, bytes, writer))
            return Error::make(ErrorKind::other, "can't write the scratch file");
    }
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
    for (int writer = 0; writer < kWriters; ++writer) {
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
    while (gate->ready < kWriters && waiting.elapsed() < kTooLong) usleep(100);
    gate->open = true;
    const Stopwatch watch;
    while (gate->done < kWriters && watch.elapsed() < kTooLong) usleep(100);
    if (gate->done < kWriters || gate->failed > 0)
        return Error::make(ErrorKind::other, "a helper process can't use the scratch file");
    return watch.elapsed();
}

}  // namespace

Result<void> measure_writers(Session& session, const std::string& folder) {
    auto stores = open_scratch(folder, 1, false);
    if (!stores) return stores.error();
    Store& store = *stores->front();
    const Bytes bytes = session.scale().data;
    const auto probe = [&](std::string_view what, Share share, Prepare prepare) {
        return Probe{what, [&store, bytes, share, prepare] {
                         return side_by_side(store, bytes, share, prepare);
                     }};
    };
    std::vector<Probe> probes{probe("writers side by side", write_share, empty),
                              probe("small writes side by side", write_dealt, empty),
                              probe("small reads of the same pages", read_dealt, full),
                              probe("small reads of other pages", read_apart, full)};
    if (store.limits().mappable)
        probes.push_back(probe("pages mapped side by side", map_share, long_without_data));
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const Nanoseconds contended_byte = (*times)[0] / static_cast<double>(bytes);
    const double pages = static_cast<double>(bytes) / kPage;
    const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, unsigned{kWriters});
    session.measured("contended_byte", contended_byte);
    session.measured("contended_call", (*times)[1] / pages - kPage * contended_byte);
    session.measured("shared_read",
                     ((*times)[2] - (*times)[3]) * cores * kReadPiece / static_cast<double>(bytes));
    if (!store.limits().mappable) {
        session.kept("map_write_page", "this file system can't map files");
        return {};
    }
    session.measured("map_write_page", (*times)[4] * cores / pages);
    return {};
}

}  // namespace oratorio::calibrate
