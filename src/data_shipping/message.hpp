// SPDX-License-Identifier: BSD-3-Clause
// Messages to and from agents (data shipping). Heads are sent as they lie in memory: both sides
// belong to one job and one build. A request is a head, a description and, in writes, the data; a
// reply is a head and, in reads that succeed, the data. Only heads are sent if both sides share the
// request's memory (data_shipping/shared_buffers). Data is packed in the order of the description.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/direction.hpp"
#include "base/error.hpp"

namespace oratorio {

/// The offset of a description or data that isn't in shared memory (data_shipping/shared_buffers).
inline constexpr std::uint64_t kNowhere = UINT64_MAX;

/// How a request describes its part of the file.
enum class Description : std::uint64_t {
    list,    ///< a run table from offset 0 (type/run_table)
    layout,  ///< an encoded layout (type/shape_codec); the agent takes the part in its blocks
};

struct RequestHead {
    std::uint64_t number = 0;   ///< returned in the reply
    std::uint64_t service = 0;  ///< the open file that the request is for (ServiceAddress)
    Description description = Description::list;
    std::uint64_t writes = 0;               ///< 0: reads
    std::int64_t from = 0;                  ///< layout: the data bytes [from, to)
    std::int64_t to = 0;                    ///< see `from`
    std::uint64_t described = 0;            ///< bytes of the description
    std::uint64_t data = 0;                 ///< bytes of data, written or requested
    std::uint64_t described_at = kNowhere;  ///< where the description lies if it isn't sent
    std::uint64_t data_at = kNowhere;       ///< where the data lies; set if described_at is

    [[nodiscard]] Direction direction() const {
        return writes != 0 ? Direction::write : Direction::read;
    }
    [[nodiscard]] bool is_shared() const { return described_at != kNowhere; }
    /// Returns the bytes that follow the head.
    [[nodiscard]] std::uint64_t sent() const {
        return is_shared() ? 0 : described + (writes != 0 ? data : 0);
    }
    /// Returns the bytes that follow a successful reply's head.
    [[nodiscard]] std::uint64_t sent_back() const { return is_shared() || writes != 0 ? 0 : data; }
};

struct ReplyHead {
    std::uint64_t number = 0;
    std::uint64_t data = 0;     ///< bytes that follow: all that were requested, or none
    std::int64_t moved = 0;     ///< writes: bytes that the file system has taken
    std::int64_t end = 0;       ///< reads: end of file as seen; INT64_MAX if it wasn't reached
    std::uint64_t calls = 0;    ///< storage calls made
    std::uint64_t storage = 0;  ///< bytes that the storage calls moved
    Error error = {};           ///< no data follows a read whose reply has an error
};

static_assert(std::is_trivially_copyable_v<RequestHead> && std::is_trivially_copyable_v<ReplyHead>);

}  // namespace oratorio
