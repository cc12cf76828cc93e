// SPDX-License-Identifier: BSD-3-Clause
#include "file/gathered_records.hpp"

#include "comm/agreed.hpp"

namespace oratorio {

Result<void> GatheredRecords::resize(Bytes capacity, UserMessages& messages) {
    if (capacity == capacity_) return {};
    if (auto written = write_together(); !written) return written;
    capacity_ = capacity;
    memory_.reset();
    if (capacity == 0) return {};
    auto made = WriteBehind::make(transport_, capacity);
    if (!made) return made.error();
    memory_ = std::move(*made);
    if (memory_ == nullptr) {
        messages.warn(
            "hint oratorio_shared_write_behind: the ranks are on several nodes or can't share "
            "memory; each record is written at once");
    }
    return {};
}

/// Moves the shared file pointer and adds the record under one lock, so that records follow each
/// other in memory as in the file.
Result<Offset> GatheredRecords::append(const Access& record, Offset etypes, const View& view,
                                       bool& gathered) {
    const Bytes bytes = record.bytes();
    const auto write = writer();
    WriteBehind::Turn turn(*memory_);
    const auto room = turn.make_room(bytes, write);
    if (!room) return room.error().on(transport_.topology().rank);
    const auto first = transport_.counter().fetch_add(etypes);
    if (!first) return first;
    const auto from = view.data_position(*first, bytes);
    if (!from || !*room) return first;
    const std::span data(record.buffer + record.memory.origin, static_cast<std::size_t>(bytes));
    if (auto added = turn.add(record.file.origin + *from, data, write); !added)
        return added.error().on(transport_.topology().rank);
    gathered = true;
    return first;
}

Result<void> GatheredRecords::write() {
    if (memory_ == nullptr) return {};
    const auto written = WriteBehind::Turn(*memory_).write_all(writer());
    if (!written) return written.error().on(transport_.topology().rank);
    return {};
}

Result<void> GatheredRecords::write_together() {
    if (memory_ == nullptr) return {};
    const auto written = write();
    return agree_on_error(transport_, written ? Error{} : written.error());
}

WriteBehind::Write GatheredRecords::writer() {
    return [this](Offset offset, std::span<std::byte> data) {
        const iovec piece{data.data(), data.size()};
        return move_range(*store_, stats_, locks_, Direction::write, offset, std::span(&piece, 1));
    };
}

}  // namespace oratorio
