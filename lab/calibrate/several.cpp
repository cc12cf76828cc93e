// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of several processes using one file at the same time, as ranks do. Writers
// contend for the file's lock and for the allocation of its pages. Readers contend for the
// reference count of a shared page and, on a network file system, for the client that fetches data.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "forked.hpp"
#include "memory/buffer_pool.hpp"
#include "plan/methods.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "store/transfer.hpp"

namespace oratorio::calibrate {
namespace {

constexpr int kProcesses = 4;
// Each writer writes stretches of this length of a mapping, in turn with the other writers.
constexpr Bytes kStretch = 64 << 10;
constexpr Bytes kReadPiece = 1024;  // short enough that a page has several pieces

/// Lets the processes begin at the same time, and counts those that are done.
struct Gate {
    std::atomic<int> ready{0};
    std::atomic<bool> open{false};
    std::atomic<int> done{0};
    std::atomic<int> failed{0};
};

/// Returns the part of the file that only this process uses.
Extent share_of(Bytes bytes, int process) {
    const Bytes share = bytes / kProcesses;
    return {process * share, (process + 1) * share};
}

/// The memory of one process. It begins at a page, as collective buffers do.
using Memory = std::span<std::byte>;

/// Moves a range in calls of `call` bytes that begin `step` bytes apart in the file. The calls use
/// the memory from start to end, and then again from its start.
bool move(Store& store, Direction direction, Extent range, Memory memory, Bytes call, Bytes step) {
    Bytes place = 0;
    for (Offset at = range.begin; at < range.end; at += step) {
        const Bytes bytes = std::min(call, range.end - at);
        if (place + bytes > std::ssize(memory)) place = 0;
        const Memory part =
            memory.subspan(static_cast<std::size_t>(place), static_cast<std::size_t>(bytes));
        const Transferred done = transfer(store, direction, at, part);
        if (done.error.kind != ErrorKind::none) return false;
        place += bytes;
    }
    return true;
}
bool move(Store& store, Direction direction, Extent range, Memory memory, Bytes call) {
    return move(store, direction, range, memory, call, call);
}
/// Moves every kProcesses-th piece of the file, from the `process`-th on, so that all processes
/// work close to each other all the time.
bool move_dealt(Store& store, Direction direction, Bytes bytes, Memory memory, Bytes call,
                int process) {
    return move(store, direction, {process * call, bytes}, memory, call, kProcesses * call);
}

bool write_share(Store& store, Bytes bytes, int writer, Memory memory) {
    return move(store, Direction::write, share_of(bytes, writer), memory, kSharedSlotBytes);
}
/// Reads as much as the memory of the process holds, in a part of the file that only this process
/// uses.
bool read_to_fill(Store& store, Bytes, int reader, Memory memory) {
    const Bytes bytes = std::ssize(memory);
    const Extent share{reader * bytes, (reader + 1) * bytes};
    return move(store, Direction::read, share, memory, kSharedSlotBytes);
}
/// Returns the part of the file that a reader reads. If calls go to a server, each process reads
/// its own share, because the processes wait for the same client. If pages are in memory, one
/// process reads all, because reading is then each reader's own work.
Extent read_by(const Store& store, Bytes bytes, int reader) {
    if (asks_server(store)) return share_of(bytes, reader);
    return reader == 0 ? Extent{0, bytes} : Extent{};
}
bool read_largely(Store& store, Bytes bytes, int reader, Memory memory) {
    return move(store, Direction::read, read_by(store, bytes, reader), memory, kSharedSlotBytes);
}
bool read_pages(Store& store, Bytes bytes, int reader, Memory memory) {
    return move(store, Direction::read, read_by(store, bytes, reader), memory, kPage);
}

bool write_dealt(Store& store, Bytes bytes, int writer, Memory memory) {
    return move_dealt(store, Direction::write, bytes, memory, kPage, writer);
}

/// Reads pieces of pages. At the same time, other readers read other pieces of the same pages.
bool read_dealt(Store& store, Bytes bytes, int reader, Memory memory) {
    return move_dealt(store, Direction::read, bytes, memory, kReadPiece, reader);
}

/// Reads as many pieces as read_dealt, of pages that no other process reads.
bool read_apart(Store& store, Bytes bytes, int reader, Memory memory) {
    return move(store, Direction::read, share_of(bytes, reader), memory, kReadPiece);
}

/// Reads a byte of each page through a mapping.
bool map_read(Store& store, Bytes bytes, int reader, Memory) {
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

/// Writes a byte of each page of this process's stretches, through a mapping. The stretches
/// alternate with those of the other processes.
bool map_write_share(Store& store, Bytes bytes, int writer, Memory) {
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

/// empty(), long_without_data() and full() prepare the file before the processes start.
Result<void> empty(Store& store, Bytes) {
    return store.resize(0, false);
}
Result<void> long_without_data(Store& store, Bytes bytes) {
    if (auto emptied = store.resize(0, false); !emptied) return emptied;
    const auto last = store.map({bytes - 1, bytes}, Direction::write, Populate::no);
    if (!last) return last.error();
    return {};
}
/// Fills the file with data, which stays in the page cache. The file is written in large calls,
/// because the layout of its pages in the cache depends on the calls that made them. It is read
/// once, because at the first read the system marks each page as used, which takes time.
Result<void> full(Store& store, Bytes bytes) {
    if (auto emptied = store.resize(0, false); !emptied) return emptied;
    BufferPool pool;
    const auto buffer = pool.take(kSharedSlotBytes);
    if (buffer.span().empty()) return Error::make(ErrorKind::no_memory, "memory to write from");
    std::ranges::fill(buffer.span(), std::byte{1});
    for (const Direction direction : {Direction::write, Direction::read}) {
        if (!move(store, direction, {0, bytes}, buffer.span(), kSharedSlotBytes))
            return Error::make(ErrorKind::other, "can't make the scratch file");
    }
    return {};
}

/// A measurement: what each process does with the file, how the file is prepared, and the
/// processes' memory.
struct Work {
    bool (*share)(Store& store, Bytes bytes, int process, Memory memory);
    Result<void> (*prepare)(Store& store, Bytes bytes);
    Bytes memory = kSharedSlotBytes;
    int processes = kProcesses;
};

/// Prepares the file and runs the processes. Returns the time from when all processes are ready to
/// when the last one is done.
Result<Nanoseconds> side_by_side(Store& store, Bytes bytes, const Work& work) {
    const auto gate = make_shared_memory<Gate>();
    if (gate == nullptr) return Error::make(ErrorKind::no_memory, "memory for several processes");
    if (const auto prepared = work.prepare(store, bytes); !prepared) return prepared.error();
    std::vector<Forked> processes;
    for (int process = 0; process < work.processes; ++process) {
        auto started = Forked::start([&, process] {
            BufferPool pool;
            const auto memory = pool.take(work.memory);
            std::ranges::fill(memory.span(), std::byte{1});
            gate->ready += 1;
            while (!gate->open) usleep(50);
            if (memory.span().empty() || !work.share(store, bytes, process, memory.span()))
                gate->failed += 1;
            gate->done += 1;
        });
        if (!started) return started.error();
        processes.push_back(std::move(*started));
    }
    constexpr Nanoseconds kTooLong = 60e9;
    const Stopwatch waiting;
    while (gate->ready < work.processes && waiting.elapsed() < kTooLong) usleep(100);
    gate->open = true;
    const Stopwatch watch;
    while (gate->done < work.processes && watch.elapsed() < kTooLong) usleep(100);
    if (gate->done < work.processes || gate->failed > 0)
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
    // Processes that do not wait for each other share the cores, so the time of a core counts.
    const int cores = std::clamp<int>(std::thread::hardware_concurrency(), 1, kProcesses);
    const auto probe = [&](std::string_view what, Bytes bytes, Work work) {
        return Probe{what, [&store, bytes, work] { return side_by_side(store, bytes, work); }};
    };
    std::vector<Probe> probes{
        probe("large writes side by side", data, {write_share, empty}),
        probe("small writes side by side", small, {write_dealt, empty}),
        probe("large reads", data, {read_largely, full}),
        probe("small reads", small, {read_pages, full}),
        probe("small reads of the same pages", small, {read_dealt, full}),
        probe("small reads of other pages", small, {read_apart, full}),
        probe("large reads into much memory", data, {read_to_fill, full, data / cores, cores}),
        probe("large writes from much memory", data, {write_share, empty, data / kProcesses})};
    if (store.limits().mappable) {
        probes.push_back(probe("pages mapped to be read", data, {map_read, full}));
        probes.push_back(
            probe("pages mapped to be written", data, {map_write_share, long_without_data}));
    }
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const auto bytes = static_cast<double>(small);
    const auto all = static_cast<double>(data);
    const double share = bytes / all;
    const double large = bytes / kSharedSlotBytes;
    const double pages = all / kPage;
    const Line written = fit(bytes, share * (*times)[0], large, (*times)[1], bytes / kPage);
    const Line read = fit(bytes, share * (*times)[2], large, (*times)[3], bytes / kPage);
    session.measured("contended_byte", written.byte);
    session.measured("contended_call", written.piece);
    const int readers = asks_server(store) ? cores : 1;
    session.measured("read_byte", readers * read.byte);
    session.measured("read_call", readers * read.piece);
    session.measured("into_memory_byte", (cores * (*times)[6] - readers * (*times)[2]) / all);
    session.measured("from_memory_byte", ((*times)[7] - (*times)[0]) / all);
    session.measured("shared_read", ((*times)[4] - (*times)[5]) * cores * kReadPiece / bytes);
    if (!store.limits().mappable) {
        for (const char* name : {"map_read_page", "map_write_page"})
            session.kept(name, kUnmappable);
        return {};
    }
    session.measured("map_read_page", (*times)[8] / pages);
    session.measured("map_write_page", (*times)[9] * cores / pages);
    return {};
}

}  // namespace oratorio::calibrate
