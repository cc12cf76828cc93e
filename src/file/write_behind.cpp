// SPDX-License-Identifier: BSD-3-Clause
#include "file/write_behind.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "comm/shared_segment.hpp"

namespace oratorio {

/// The header of the shared memory. The gathered bytes follow it.
struct alignas(64) WriteBehind::Head {
    pthread_mutex_t turn;
    Offset begin = 0;  ///< where the gathered bytes begin in the file
    /// Number of gathered bytes. Changed last, so that a rank that dies while it adds a record
    /// leaves only whole records.
    Bytes bytes = 0;

    /// Makes a mutex that works between processes, and survives the death of a process that holds
    /// it.
    Head() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&turn, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
};

Result<std::unique_ptr<WriteBehind>> WriteBehind::make(Transport& transport, Bytes capacity) {
    const auto none = [] { return std::unique_ptr<WriteBehind>(); };
    if (!transport.in_memory()) return none();
    const Bytes bytes = static_cast<Bytes>(sizeof(Head)) + capacity;
    const auto prepare = [](std::span<std::byte> memory) { new (memory.data()) Head; };
    SharedSegment segment({bytes, {}, prepare, {}});
    if (const auto decided = segment.finish(transport); !decided) return decided.error();
    if (segment.refused()) return none();
    return std::unique_ptr<WriteBehind>(new WriteBehind(segment.take()));
}

WriteBehind::Head& WriteBehind::head() const {
    return *reinterpret_cast<Head*>(memory_.span().data());
}

std::span<std::byte> WriteBehind::room() const {
    return memory_.span().subspan(sizeof(Head));
}

/// Takes the lock. Tries for a while before it sleeps, because another rank's turn is usually
/// shorter than a sleep.
WriteBehind::Turn::Turn(WriteBehind& all) : all_(all) {
    constexpr int kTries = 100;
    pthread_mutex_t& turn = all_.head().turn;
    int taken = EBUSY;
    for (int i = 0; i < kTries && taken == EBUSY; ++i) taken = pthread_mutex_trylock(&turn);
    if (taken == EBUSY) taken = pthread_mutex_lock(&turn);
    if (taken == EOWNERDEAD) pthread_mutex_consistent(&turn);
}

WriteBehind::Turn::~Turn() {
    pthread_mutex_unlock(&all_.head().turn);
}

Result<bool> WriteBehind::Turn::make_room(Bytes bytes, const Write& write) {
    const Bytes capacity = std::ssize(all_.room());
    if (bytes > capacity) return false;
    if (bytes > capacity - all_.head().bytes) {
        if (auto written = write_all(write); !written) return written.error();
    }
    return true;
}

Result<void> WriteBehind::Turn::add(Offset offset, std::span<const std::byte> record,
                                    const Write& write) {
    Head& head = all_.head();
    if (head.bytes > 0 && offset != head.begin + head.bytes) {
        if (auto written = write_all(write); !written) return written;
    }
    if (head.bytes == 0) head.begin = offset;
    std::memcpy(all_.room().data() + head.bytes, record.data(), record.size());
    head.bytes += std::ssize(record);
    return {};
}

Result<void> WriteBehind::Turn::write_all(const Write& write) {
    Head& head = all_.head();
    if (head.bytes == 0) return {};
    const auto gathered = all_.room().first(static_cast<std::size_t>(head.bytes));
    const Transferred done = write(head.begin, gathered);
    if (done.bytes > 0 && done.bytes < head.bytes)
        std::memmove(gathered.data(), gathered.data() + done.bytes,
                     gathered.size() - static_cast<std::size_t>(done.bytes));
    head.begin += done.bytes;
    head.bytes -= done.bytes;
    if (done.error.kind == ErrorKind::none) return {};
    return Error::make(done.error.kind,
                       "records gathered by oratorio_shared_write_behind can't be written; they "
                       "are kept for another attempt",
                       done.error.system_errno)
        .at(head.begin, head.bytes);
}

}  // namespace oratorio
