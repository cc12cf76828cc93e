// SPDX-License-Identifier: BSD-3-Clause
// Piece: the request of a single piece of data, for tests of agents.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "data_shipping/agents.hpp"
#include "type/run_table.hpp"

namespace oratorio::test {

using Buffer = std::vector<std::byte>;

inline constexpr Bytes kBlock = 1000;
inline constexpr Bytes kMost = 8192;

/// A piece of data to write through one agent, or to read through it.
struct Piece {
    Piece(Direction direction, int agent, Offset offset, Bytes bytes, int value = 0)
        : table(64), data(static_cast<std::size_t>(bytes), static_cast<std::byte>(value)) {
        RunTableWriter writer(table, 0);
        writer.add({offset, bytes, 0, 1});
        table.resize(writer.bytes());
        shipment.head.writes = direction == Direction::write ? 1 : 0;
        shipment.head.described = table.size();
        shipment.head.data = data.size();
        shipment.agent = agent;
    }
    const Shipment& numbered(std::uint64_t number) {
        shipment.head.number = number;
        shipment.description = table;
        shipment.data = data;
        return shipment;
    }
    Buffer table;
    Buffer data;
    Shipment shipment;
};

inline ReplyHead ask(Agents& agents, Piece& piece, std::uint64_t number = 1) {
    agents.ship(piece.numbered(number));
    ReplyHead reply;
    EXPECT_EQ(agents.reap(std::span(&reply, 1)), 1U);
    EXPECT_EQ(reply.number, number);
    return reply;
}

}  // namespace oratorio::test
