// SPDX-License-Identifier: BSD-3-Clause
// Messages without a fixed form: data and requests of the two-phase exchange, as an aggregator
// receives them, and the hints of rank 0. The first byte of the input selects the kind. For the
// exchange the next five bytes describe the aggregator's round; the rest is the message.
#include <algorithm>
#include <string_view>
#include <vector>

#include "exchange/messages/payload_copy.hpp"
#include "exchange/messages/peer.hpp"
#include "fuzz.hpp"
#include "hints/hints.hpp"

namespace oratorio::test {
namespace {

struct Round {
    bool reading = false;
    bool marked = false;
    Region region;
    Offset valid_until = 0;
};

Round round_of(unsigned kind, std::span<const std::uint8_t>& input) {
    Region region;
    region.begin = Offset{take_byte(input)} * 1000;
    region.count = 1 + take_byte(input) % 4;
    region.length = 1 + take_byte(input) % 64;
    region.stride = region.length + take_byte(input) % 64;
    region.clip = {region.begin, region.begin + region.count * region.stride};
    return {(kind & 1) != 0, (kind & 2) != 0, region, region.begin + take_byte(input)};
}

void write(const Round& round, const MessageView& message, std::span<std::byte> data) {
    std::vector<std::byte> mask(round.marked ? data.size() : 0);
    if (!place_runs(message.table, message.payload, round.region, {data, mask})) return;
    const auto given = std::ssize(mask) - std::ranges::count(mask, std::byte{0});
    claim(given <= std::ssize(message.payload), "no more bytes are marked than were sent");
}

void read(const Round& round, const MessageView& message, std::span<const std::byte> data) {
    std::vector<std::byte> reply(100);
    const auto there = fetch_runs(message.table, reply, round.region, data, round.valid_until);
    claim(!there || (*there >= 0 && *there <= std::ssize(reply)), "a reply fits");
}

void exchange(unsigned kind, std::span<const std::uint8_t> input) {
    const Round round = round_of(kind, input);
    const auto bytes = std::as_bytes(input);
    // Aggregators' buffers are never shorter than a message head.
    std::vector<std::byte> buffer(std::max(bytes.size(), sizeof(MessageHead)));
    std::ranges::copy(bytes, buffer.begin());
    const MessageView message = view_message(buffer, !round.reading);
    claim(!message.damaged || (message.table.empty() && message.payload.empty()),
          "nothing is taken from a damaged message");
    std::vector<std::byte> data(static_cast<std::size_t>(round.region.count * round.region.length));
    if (round.reading) {
        read(round, message, data);
    } else {
        write(round, message, data);
    }
}

void hints(std::span<const std::uint8_t> input) {
    const auto* const text = reinterpret_cast<const char*>(input.data());
    const auto given = decode_hints(std::string_view(text, input.size()));
    claim(!given || decode_hints(encode_hints(*given)) == given, "hints are sent as they came");
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio::test;
    std::span input(data, size);
    const unsigned kind = take_byte(input);
    if ((kind & 4) != 0) {
        hints(input);
    } else {
        exchange(kind, input);
    }
    return 0;
}
