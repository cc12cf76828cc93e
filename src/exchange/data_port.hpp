// SPDX-License-Identifier: BSD-3-Clause
// DataPort: the data of one participant of an exchange, as runs in a region and their bytes. It is
// a source in writes and a sink in reads. The data lies in the rank's own memory (own_data), or in
// the memory of all ranks of its group (group_source). The exchange by packed messages accepts
// both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/message_memory.hpp"
#include "exchange/exchange.hpp"

namespace oratorio {

/// `bytes` bytes of the data, starting at data position `position`.
struct Segment {
    Bytes position = 0;
    Bytes bytes = 0;
};

inline constexpr Bytes kChunkRoom = 128;

/// The part of the data in one region that fits into one message.
struct Chunk {
    bool last = false;  ///< the region holds no more data after this chunk
    Bytes payload = 0;
    std::vector<Segment> segments;  ///< the payload's parts, in order
    int record = -1;  ///< replaces `segments` for a group's data: index of a record or a window
    /// Where the payload already lies (writes) or will be received (reads), with kChunkRoom bytes
    /// of room in front for a message's head and run table. Empty if the payload uses a message
    /// buffer.
    std::span<std::byte> place = {};
    PieceList pieces = {};  ///< zero-copy: where the payload lies in the user's memory
};

/// The outcome of a copy between the data and a region's buffer.
struct Copied {
    /// Writes: bytes put into the buffer. Reads: bytes that reached this rank's own memory.
    Bytes bytes = 0;
    bool last = true;  ///< the region holds no more data
};

class DataPort {
  public:
    virtual ~DataPort() = default;
    DataPort() = default;
    DataPort(const DataPort&) = delete;
    DataPort& operator=(const DataPort&) = delete;

    /// Returns true if the next chunk of the region can be taken. For a group's data, that may have
    /// to wait until data of the other ranks arrives.
    virtual bool ready(const Region& region) = 0;
    /// Takes the next chunk of a region. Writes its runs to the front of `table_and_payload`, which
    /// has room for both the table and the payload, and returns the bytes of the table.
    /// REQUIRES: the previous region was taken to its last chunk.
    virtual std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                             Chunk& chunk) = 0;
    /// Returns how much of the data lies in the region, and where; nothing until that is known.
    /// Walks all runs of the region. REQUIRES: it hasn't returned the region's contents before.
    virtual std::optional<RoundContents> contents(const Region& region) = 0;
    /// Copies the chunk's data to the payload of a message. REQUIRES, for this function, unpack()
    /// and sent(): next() made the chunk.
    virtual void pack(const Chunk& chunk, std::span<std::byte> payload) = 0;
    /// Copies the payload of a message, which may be short, to the data. A payload that was
    /// received at `chunk.place` is already in place. Returns the bytes that reached this rank's
    /// own memory.
    virtual Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) = 0;
    /// Called in packed writes when the chunk was sent. The chunk's `place`, if any, is then free.
    virtual void sent(const Chunk&) {}
    /// Copies between the data and a region's buffer without a message, as RegionCopy::copy does.
    /// Copies the part of the region that is available and not yet copied. REQUIRES, for a rank's
    /// own data: make_own_data() was called with `copies`.
    virtual Copied copy(const Region& region, std::byte* buffer, std::byte* mask,
                        Offset valid_until) = 0;
};

/// Makes the port to the data of the rank's own access. `copies` says that copy() will be called.
/// `lists` is memory in which next() lists the pieces of its chunk (zero-copy), valid until the
/// next call. If `lists` is empty, chunks are packed and unpacked.
std::unique_ptr<DataPort> make_own_data(const ExchangeContext& context, bool copies,
                                        std::span<std::byte> lists = {});

/// Returns true if `run`, which the cursor has just passed, is only a part of a piece that would
/// fit into a message of `most` bytes as a whole. Pieces end at the offset `end`, and the data ends
/// at position `to`. The cursor stays where it is.
[[nodiscard]] bool is_split(Cursor& file, const StridedRun& run, Bytes to, Offset end, Bytes most);

/// Returns how much of the data positions [from, to) of a layout lies in `region`, and where.
[[nodiscard]] RoundContents contents_of(Cursor& file, Bytes from, Bytes to, const Region& region);

}  // namespace oratorio
