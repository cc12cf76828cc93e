// SPDX-License-Identifier: BSD-3-Clause
// What is said to agents and by them. Heads are sent as they lie in memory: both sides are of one
// job and one build. A request is its head, its description and, of a write, the data; a reply is
// its head and, of a read, the data. Data is packed, in the order of the description.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/direction.hpp"
#include "base/error.hpp"

namespace oratorio {

/// No place in memory that is shared (agent/shared_buffers).
inline constexpr std::uint64_t kNowhere = UINT64_MAX;

/// How a request tells what it wants of the file.
enum class Description : std::uint64_t {
    list,    ///< a run table from offset 0 (type/run_table)
    layout,  ///< a layout as bytes (type/shape_codec), of which the agent takes what is in its
             ///< blocks
};

struct RequestHead {
    std::uint64_t number = 0;   ///< comes back in the reply
    std::uint64_t service = 0;  ///< which open file it is for (ServicePlace)
    Description description = Description::list;
    std::uint64_t writes = 0;               ///< 0: reads
    std::int64_t from = 0;                  ///< of a layout: the data bytes [from, to)
    std::int64_t to = 0;                    ///< the same
    std::uint64_t described = 0;            ///< bytes of the description
    std::uint64_t data = 0;                 ///< bytes of data, written or wanted
    std::uint64_t described_at = kNowhere;  ///< where the description lies if it isn't sent
    std::uint64_t data_at = kNowhere;       ///< and the data: both or none

    [[nodiscard]] Direction direction() const {
        return writes != 0 ? Direction::write : Direction::read;
    }
    [[nodiscard]] bool is_shared() const { return described_at != kNowhere; }
    /// Bytes that follow it.
    [[nodiscard]] std::uint64_t sent() const {
        return is_shared() ? 0 : described + (writes != 0 ? data : 0);
    }
    /// Bytes that follow a good reply.
    [[nodiscard]] std::uint64_t sent_back() const { return is_shared() || writes != 0 ? 0 : data; }
};

struct ReplyHead {
    std::uint64_t number = 0;
    std::uint64_t data = 0;   ///< bytes that follow: all that were wanted, or none
    std::int64_t moved = 0;   ///< of a write: bytes of it that are with the file system
    std::int64_t end = 0;     ///< of a read: where the file was seen to end; else above all offsets
    std::uint64_t calls = 0;  ///< of the storage
    std::uint64_t storage = 0;  ///< bytes that it moved
    Error error = {};           ///< of a read: nothing is moved
};

static_assert(std::is_trivially_copyable_v<RequestHead> && std::is_trivially_copyable_v<ReplyHead>);

}  // namespace oratorio
