// SPDX-License-Identifier: BSD-3-Clause
// Write-behind of the shared file pointer: records that ranks append independently are gathered in
// memory before they are written (hint oratorio_shared_write_behind).
#include "file/state.hpp"

namespace oratorio {

Result<void> File::State::gather_records(Bytes before) {
    if (hints->shared_write_behind == before) return {};
    if (auto written = write_gathered_together(); !written) return written;
    write_behind.reset();
    if (hints->shared_write_behind == 0) return {};
    auto made = WriteBehind::make(*transport, hints->shared_write_behind);
    if (!made) return made.error();
    write_behind = std::move(*made);
    if (write_behind == nullptr) {
        opened.messages.warn(
            "hint oratorio_shared_write_behind: the ranks share no memory; each record is written "
            "at once");
    }
    return {};
}

bool File::State::is_gathered(const AccessCall& call, const Placed& placed) const {
    return write_behind != nullptr && call.at == Positioning::shared && !call.collective &&
           placed.may_move && call.direction == Direction::write &&
           placed.access.refused.kind == ErrorKind::none && is_one_piece(placed.access);
}

/// Adds a record to the gathered ones. The shared file pointer is moved and the record added under
/// one lock, so that records follow each other in memory as in the file. The pointer stays if the
/// gathered records can't be written to make room.
Result<Offset> File::State::append(Placed& placed) {
    const Access& access = placed.access;
    const Bytes bytes = access.bytes();
    const auto write = record_writer();
    WriteBehind::Turn turn(*write_behind);
    const auto room = turn.make_room(bytes, write);
    if (!room) return room.error().on(transport->topology().rank);
    const auto first = transport->fetch_add(placed.etypes);
    if (!first) return first;
    const auto from = place.view.data_position(*first, bytes);
    if (!from || !*room) return first;
    const std::span record(access.buffer + access.memory.origin, static_cast<std::size_t>(bytes));
    if (auto added = turn.add(access.file.origin + *from, record, write); !added)
        return added.error().on(transport->topology().rank);
    placed.moved = Outcome{bytes, {}};
    return first;
}

Result<void> File::State::write_gathered() {
    if (write_behind == nullptr || store == nullptr) return {};
    const auto written = WriteBehind::Turn(*write_behind).write_all(record_writer());
    if (!written) return written.error().on(transport->topology().rank);
    return {};
}

Result<void> File::State::write_gathered_together() {
    if (write_behind == nullptr) return {};
    const auto written = write_gathered();
    return agree_on_error(*transport, written ? Error{} : written.error());
}

WriteBehind::Write File::State::record_writer() {
    return [this](Offset offset, std::span<std::byte> data) {
        const iovec piece{data.data(), data.size()};
        return move_now(Direction::write, offset, std::span(&piece, 1));
    };
}

}  // namespace oratorio
