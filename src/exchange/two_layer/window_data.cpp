// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/two_layer/window_data.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/two_layer/run_joiner.hpp"

namespace oratorio {

static_assert(kChunkRoom <= Layers::window_room);

WindowData::WindowData(const ExchangeContext& context, DataPort& own)
    : context_(context),
      plan_(context.plan),
      own_(own),
      places_(plan_, context.transport.topology(), *context.node,
              context.transport.topology().rank),
      filling_(plan_, context.transport.topology().rank),
      at_(filling_) {
    const Rank rank = context.transport.topology().rank;
    for (const Rank one : plan_.layers().group_of(rank)) {
        if (one != rank) others_.push_back(plan_.ranks.hull_of(one));
    }
}

WindowData::Place& WindowData::take(const Windows& at, State state) {
    Place& window = place(at.number());
    window = {state, at.number(), at.window(), at.extent()};
    return window;
}

/// Opens the window to the other ranks of the group that may have data in it.
void WindowData::show(const Place& window, Offset valid_until) {
    SlotControl& control = places_.control(window.number);
    control.begin = window.window.begin;
    control.valid_until = valid_until;
    control.to_come = std::ranges::count_if(
        others_, [&](const Extent& hull) { return window.window.touches(hull); });
    control.round = round_key(context_.sequence, window.number);
}

Result<Step> WindowData::step() {
    return progressed_if(reading() ? release_emptied() : fill());
}

/// Opens all free windows for filling, and copies this rank's own data to each.
bool WindowData::fill() {
    bool moved = false;
    while (!filling_.at_end() && place(filling_.number()).state == State::free) {
        const Place& window = take(filling_, State::filling);
        const auto data = places_.data(window.number);
        const auto mask = places_.mask(window.number);
        std::memset(mask.data() + (window.extent.begin - window.window.begin), 0,
                    static_cast<std::size_t>(window.extent.length()));
        show(window, 0);
        (void)own_.copy(window.window, data.data(), mask.data(), 0);
        filling_.advance();
        moved = true;
    }
    return moved;
}

bool WindowData::release_emptied() {
    bool moved = false;
    for (Place& window : windows_) {
        if (window.state != State::emptying || places_.control(window.number).to_come > 0) continue;
        window.state = State::free;
        moved = true;
    }
    return moved;
}

bool WindowData::finished() const {
    return std::ranges::all_of(windows_,
                               [](const Place& window) { return window.state == State::free; });
}

bool WindowData::filled() {
    return place(at_.number()).state == State::filling &&
           places_.control(at_.number()).to_come == 0;
}

bool WindowData::ready(const Region&) {
    return reading() ? place(at_.number()).state == State::free : filled();
}

std::span<std::byte> WindowData::bytes_of(const Place& window, Extent extent) const {
    return places_.data(window.number)
        .subspan(static_cast<std::size_t>(extent.begin - window.window.begin),
                 static_cast<std::size_t>(extent.length()));
}

/// Returns the next written piece at or after `from`; empty if there is none.
Extent WindowData::next_written(const Place& window, Offset from) const {
    const auto mask = places_.mask(window.number);
    const auto find = [&](Offset begin, int value) {
        const auto bytes = static_cast<std::size_t>(window.extent.end - begin);
        const std::byte* const first = mask.data() + (begin - window.window.begin);
        const void* const found = bytes > 0 ? std::memchr(first, value, bytes) : nullptr;
        return found == nullptr ? window.extent.end
                                : begin + (static_cast<const std::byte*>(found) - first);
    };
    const Offset begin = find(from, 0xff);
    return {begin, find(begin, 0)};
}

std::size_t WindowData::next(const Region& region, std::span<std::byte> table_and_payload,
                             Chunk& chunk) {
    chunk = {};
    RunJoiner joiner(table_and_payload, region);
    if (reading()) {
        const Place& window = take(at_, State::coming);
        joiner.add(window.extent.begin, window.extent.length());
        chunk.payload = window.extent.length();
        chunk.place = bytes_of(window, window.extent);
        chunk.record = static_cast<int>(window.number % Layers::windows_max);
        at_.advance();
    } else {
        take_written(place(at_.number()), table_and_payload, joiner, chunk);
    }
    joiner.finish();
    context_.stats.pieces_forwarded += static_cast<std::uint64_t>(joiner.pieces());
    chunk.last = !is_in(region);
    return joiner.bytes();
}

/// Takes the written bytes of the window, as many as there is room for.
void WindowData::take_written(Place& window, std::span<std::byte> table_and_payload,
                              RunJoiner& joiner, Chunk& chunk) {
    const bool whole = !begun_;
    if (whole) from_ = window.extent.begin;
    begun_ = true;
    packed_ = {from_, from_};
    chunk.record = static_cast<int>(window.number % Layers::windows_max);
    Extent piece;
    for (;;) {
        piece = next_written(window, from_);
        if (piece.empty()) break;
        const Bytes room = std::ssize(table_and_payload) - chunk.payload -
                           static_cast<Bytes>(joiner.bytes() + RunJoiner::batch_bytes_max);
        if (room <= 0) return;
        const Bytes bytes = std::min(room, piece.length());
        joiner.add(piece.begin, bytes);
        chunk.payload += bytes;
        from_ = packed_.end = piece.begin + bytes;
    }
    if (whole && joiner.pieces() == 1)
        chunk.place = bytes_of(window, {packed_.end - chunk.payload, packed_.end});
    window.state = State::leaving;
    begun_ = false;
    at_.advance();
}

/// Packs the chunk. The window is free after its last chunk.
void WindowData::pack(const Chunk& chunk, std::span<std::byte> payload) {
    Place& window = windows_[static_cast<std::size_t>(chunk.record)];
    Bytes at = 0;
    for (Offset from = packed_.begin; at < chunk.payload;) {
        const Extent piece = intersect(next_written(window, from), packed_);
        const auto data = bytes_of(window, piece);
        std::memcpy(payload.data() + at, data.data(), data.size());
        at += piece.length();
        from = piece.end;
    }
    context_.stats.bytes_merged += static_cast<std::uint64_t>(at);
    if (window.state == State::leaving) window.state = State::free;
}

void WindowData::sent(const Chunk& chunk) {
    if (!chunk.place.empty()) windows_[static_cast<std::size_t>(chunk.record)].state = State::free;
}

Bytes WindowData::unpack(const Chunk& chunk, std::span<const std::byte> payload) {
    Place& window = windows_[static_cast<std::size_t>(chunk.record)];
    const Offset valid_until = window.extent.begin + std::ssize(payload);
    window.state = State::emptying;
    show(window, valid_until);
    return own_.copy(window.window, places_.data(window.number).data(), nullptr, valid_until).bytes;
}

Copied WindowData::copy(const Region& region, std::byte* buffer, std::byte* mask,
                        Offset valid_until) {
    const RoundBuffer whole = buffer_of(region, buffer, mask);
    Copied copied;
    while (is_in(region) && ready(region)) {
        copied.bytes += reading() ? copy_read(region, whole, valid_until)
                                  : copy_written(place(at_.number()), region, whole);
        at_.advance();
    }
    copied.last = !is_in(region);
    return copied;
}

Bytes WindowData::copy_written(Place& window, const Region& region, const RoundBuffer& buffer) {
    const std::int64_t extent =
        region.count > 1 ? (window.extent.begin - region.begin) / region.stride : 0;
    Bytes bytes = 0;
    for (Offset from = window.extent.begin;;) {
        const Extent piece = next_written(window, from);
        if (piece.empty()) break;
        const auto data = bytes_of(window, piece);
        const Bytes at = region.buffer_position(extent, piece.begin);
        std::memcpy(buffer.data.data() + at, data.data(), data.size());
        if (!buffer.mask.empty()) std::memset(buffer.mask.data() + at, 0xff, data.size());
        bytes += piece.length();
        from = piece.end;
    }
    context_.stats.bytes_placed += static_cast<std::uint64_t>(bytes);
    window.state = State::free;
    return bytes;
}

Bytes WindowData::copy_read(const Region& region, const RoundBuffer& buffer, Offset valid_until) {
    Place& window = take(at_, State::emptying);
    const std::int64_t extent =
        region.count > 1 ? (window.extent.begin - region.begin) / region.stride : 0;
    const Extent valid = intersect(window.extent, {window.extent.begin, valid_until});
    if (!valid.empty()) {
        const auto data = bytes_of(window, valid);
        std::memcpy(data.data(), buffer.data.data() + region.buffer_position(extent, valid.begin),
                    data.size());
        context_.stats.bytes_placed += data.size();
    }
    show(window, valid_until);
    return own_.copy(window.window, places_.data(window.number).data(), nullptr, valid_until).bytes;
}

}  // namespace oratorio
