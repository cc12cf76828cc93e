// SPDX-License-Identifier: BSD-3-Clause
// Runs: the data that one participant of an exchange brings or wants: which runs it has in a
// region, and their bytes. A source when writing, a sink when reading. What a participant does with
// its data it does through this, so that the data may be the rank's own memory, or other ranks'
// that it speaks for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/message_memory.hpp"
#include "exchange/exchange.hpp"

namespace oratorio {

/// `bytes` of the data, from data position `position` on.
struct Segment {
    Bytes position = 0;
    Bytes bytes = 0;
};

inline constexpr Bytes kChunkRoom = 128;

/// One message's worth of the data in one region.
struct Chunk {
    bool last = false;  ///< there is no more in this region
    Bytes payload = 0;
    std::vector<Segment> segments;  ///< payload in order
    int record = -1;                ///< instead, where others' data is spoken for
    /// Where the payload lies already (writes) or shall come to lie (reads), with kChunkRoom bytes
    /// before it for what goes before it in a message; empty where a message's buffer is for that.
    std::span<std::byte> place = {};
    PieceList pieces = {};  ///< of the payload in memory, where it goes straight from or to there
};

/// What a copy between the data and a region's buffer came to.
struct Copied {
    Bytes bytes = 0;   ///< writes: given to the buffer; reads: that reached this rank's own memory
    bool last = true;  ///< there is no more in this region
};

class Runs {
  public:
    virtual ~Runs() = default;
    Runs() = default;
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

    /// The next chunk of the region can be taken. Where others' data is spoken for it may have to
    /// come first.
    virtual bool ready(const Region& region) = 0;
    /// Takes the next chunk of a region: its runs are written to the front of `table_and_payload`,
    /// and table + payload fit into it. Returns the bytes of the table. A region is taken to its
    /// last chunk before the next one is begun.
    virtual std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                             Chunk& chunk) = 0;
    /// What there is in the region, told once; nothing while that isn't known. One walk over its
    /// runs.
    virtual std::optional<RoundContents> contents(const Region& region) = 0;
    /// Data -> payload of a message.
    virtual void pack(const Chunk& chunk, std::span<std::byte> payload) = 0;
    /// Payload -> data; it may be short; where it came to its place it lies there. Gives the bytes
    /// that reached this rank's own memory.
    virtual Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) = 0;
    /// Writes: the chunk has left; its place, if it had one, is free.
    virtual void sent(const Chunk&) {}
    /// What there is of a region, and hasn't been copied, between the data and the region's buffer
    /// without a message, as RegionCopy::copy does.
    virtual Copied copy(const Region& region, std::byte* buffer, std::byte* given,
                        Offset valid_until) = 0;
};

/// The rank's own access. `copies`: copy() will be called. `lists`: chunks name the pieces of their
/// payload, whose list lies there until the next one; empty where they are packed and unpacked.
std::unique_ptr<Runs> make_own_runs(const ExchangeContext& context, bool copies,
                                    std::span<std::byte> lists = {});

/// What the data positions [from, to) of a layout have in `region`.
[[nodiscard]] RoundContents contents_of(Cursor& file, Bytes from, Bytes to, const Region& region);

}  // namespace oratorio
