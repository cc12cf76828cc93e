// SPDX-License-Identifier: BSD-3-Clause
// Case: a random collective access of N ranks, and the expected result computed byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/run.hpp"
#include "plan/methods.hpp"
#include "support/flat_terms.hpp"
#include "support/memory_store.hpp"
#include "support/sim_transport.hpp"
#include "support/typemap_oracle.hpp"

namespace oratorio::test {

/// One rank's part of a case: its access, its memory, and the offset of each data byte in file and
/// memory.
struct RankPart {
    Access access;
    std::vector<std::byte> memory;
    /// The lowest offset in the memory layout: the user's pointer is memory.data() - lowest.
    Bytes lowest = 0;
    Typemap file_bytes;  ///< offsets of the accessed data bytes, in data order
    Typemap memory_bytes;

    std::byte* base() { return memory.data() - lowest; }
    [[nodiscard]] Extent file_hull() const {
        if (file_bytes.empty()) return {};
        const auto [low, high] = std::minmax_element(file_bytes.begin(), file_bytes.end());
        return {*low, *high + 1};
    }
};

/// The value of all bytes of memory before a read.
inline constexpr std::byte kUntouched{0x11};

/// Returns the value of a byte that a rank writes. Written bytes have their high bit set; bytes
/// that were in the file before (old_byte) do not, so that each byte shows its origin.
inline std::byte written_byte(Rank rank, std::size_t data) {
    return std::byte(0x80 | ((static_cast<std::size_t>(rank) * 31 + data * 7) & 0x7f));
}
inline std::byte old_byte(Offset at) {
    return std::byte((at * 5 + 3) & 0x7f);
}

struct Case {
    std::uint64_t seed = 0;
    int ranks = 1;
    bool holes = true;
    std::vector<RankPart> parts;
};

/// The offsets and the lengths of pieces of a file, in ascending order of the offsets.
using FilePieces = std::pair<std::vector<Offset>, std::vector<Bytes>>;

/// Cuts [0, tile) into pieces and deals them to the ranks; with `holes`, some pieces belong to no
/// rank. The view of each rank consists of its pieces, in tiles without end.
inline std::vector<FilePieces> deal_pieces(Random& random, int ranks, Bytes tile, Bytes piece_max,
                                           bool holes) {
    std::vector<FilePieces> dealt(static_cast<std::size_t>(ranks));
    Offset at = 0;
    while (at < tile) {
        const Bytes length = std::min<Bytes>(tile - at, random.between(1, piece_max));
        const auto owner = static_cast<std::size_t>(
            random.below(static_cast<std::uint64_t>(ranks) + (holes ? 1 : 0)));
        if (owner < dealt.size()) {
            dealt[owner].first.push_back(at);
            dealt[owner].second.push_back(length);
        }
        at += length;
    }
    return dealt;
}

/// Returns a memory datatype without overlaps that holds about `bytes` of data.
inline LaidOutMap random_memory(TypemapGenerator& generator, Bytes bytes) {
    for (;;) {
        const TypedMap one = generator.datatype(3);
        if (one.bytes.empty() || facts_of(one.bytes).repeated) continue;
        const Extent span = facts_of(one.bytes).span;
        LaidOutMap memory;
        memory.layout = {one.shape, span.length() + generator.between(0, 9), 0,
                         std::max<std::int64_t>(1, bytes / one.shape->size())};
        for (std::int64_t tile = 0; tile < memory.layout.count; ++tile) {
            for (const Offset offset : one.bytes)
                memory.bytes.push_back(offset + tile * memory.layout.extent);
        }
        return memory;
    }
}

/// Returns the offsets of `count` data bytes of tiled pieces, from data byte `from` on. They are
/// computed without the library's Cursor, which is under test.
inline Typemap written_out(const FilePieces& pieces, Bytes tile, Offset origin, Bytes from,
                           std::size_t count) {
    const auto& [offsets, lengths] = pieces;
    const Bytes size = std::accumulate(lengths.begin(), lengths.end(), Bytes{0});
    Typemap bytes;
    bytes.reserve(count);
    Bytes skipped = from % size;
    for (Offset start = origin + from / size * tile; bytes.size() < count; start += tile) {
        for (std::size_t piece = 0; piece < offsets.size(); ++piece) {
            const Bytes first = std::min(skipped, lengths[piece]);
            skipped -= first;
            for (Bytes at = first; at < lengths[piece] && bytes.size() < count; ++at)
                bytes.push_back(start + offsets[piece] + at);
        }
    }
    return bytes;
}

inline RankPart make_part(TypemapGenerator& generator, const FilePieces& pieces, Bytes tile,
                          Offset origin, Bytes bytes) {
    const ShapePtr filetype = Shape::runs(pieces.first, pieces.second);
    RankPart part;
    part.access.file = {filetype, tile, origin, Layout::unbounded};
    if (filetype->size() == 0 || bytes == 0) return part;
    LaidOutMap memory = random_memory(generator, bytes);
    part.access.memory = memory.layout;
    part.memory_bytes = memory.bytes;
    part.access.from = generator.between(0, 2 * filetype->size());
    const auto [low, high] = std::minmax_element(memory.bytes.begin(), memory.bytes.end());
    part.lowest = *low;
    part.memory.assign(static_cast<std::size_t>(*high - *low + 1), kUntouched);
    part.file_bytes = written_out(pieces, tile, origin, part.access.from, memory.bytes.size());
    return part;
}

inline Case make_case(std::uint64_t seed, int ranks, bool holes, Bytes bytes_max = 9000) {
    Random random(seed * 7919 + static_cast<std::uint64_t>(ranks));
    TypemapGenerator generator(seed, TypemapGenerator::Style::any);
    Case made{seed, ranks, holes, {}};
    const Bytes tile = random.between(64, 20000);
    const Offset origin =
        random.chance(20) ? (Offset{1} << 33) + random.between(0, 5000) : random.between(0, 5000);
    const auto dealt = deal_pieces(random, ranks, tile, random.chance(50) ? 16 : 3000, holes);
    for (int rank = 0; rank < ranks; ++rank) {
        const Bytes bytes = random.chance(15) ? 0 : random.between(1, bytes_max);
        made.parts.push_back(
            make_part(generator, dealt[static_cast<std::size_t>(rank)], tile, origin, bytes));
    }
    return made;
}

/// Fills the memory of all ranks with the data to write.
inline void fill_memory(Case& made) {
    for (int rank = 0; rank < made.ranks; ++rank) {
        RankPart& part = made.parts[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < part.memory_bytes.size(); ++i)
            part.base()[part.memory_bytes[i]] = written_byte(rank, i);
    }
}

inline Extent hull_of(const Case& made) {
    Extent all;
    for (const RankPart& part : made.parts) all = hull(all, part.file_hull());
    return all;
}

/// Returns a placement with many ranks on some nodes and one on others; neighbouring ranks may be
/// on different nodes.
inline std::vector<int> uneven_nodes(int ranks, std::uint64_t seed) {
    Random random(seed);
    std::vector<int> node_of;
    int nodes = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        node_of.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(nodes) + 1)));
        nodes = std::max(nodes, node_of.back() + 1);
    }
    return node_of;
}

/// Returns options with buffers so small that an access takes several rounds and a message carries
/// little data. Ranks 0, 1, ... are agents; agents_among() leaves out those that don't exist.
inline FlatTerms small_options(const std::string& method, std::uint64_t seed) {
    Random random(seed + 99);
    FlatTerms options;
    options.method = find_method(method);
    options.cb_buffer_size = random.between(4096, 70000);
    options.ind_rd_buffer_size = options.ind_wr_buffer_size = random.between(4096, 20000);
    options.cb_nodes = static_cast<int>(random.below(5));
    options.cyclic_block = random.between(100, 9000);
    options.striping_unit = random.chance(50) ? 0 : 4096;
    options.slots = static_cast<int>(random.below(9));
    options.message_bytes = random.between(4096, 20000);
    options.messages_in_flight = static_cast<int>(random.between(1, 4));
    options.sub_buffer = random.chance(50) ? 0 : random.between(1, 9000);
    options.group = static_cast<int>(random.between(1, 5));
    options.group_pieces = random.chance(70) ? 0 : static_cast<int>(random.between(1, 4));
    options.max_acc = static_cast<int>(random.below(4));
    options.mappable = options.coherent = true;
    std::vector<Rank> agents(static_cast<std::size_t>(random.between(1, 4)));
    std::iota(agents.begin(), agents.end(), 0);
    options.agents = {.ranks = std::move(agents),
                      .threads = 1,
                      .block = random.between(1, 6000),
                      .message = random.between(4096, 20000),
                      .refused = false};
    options.local_aggregators_per_node = static_cast<int>(random.below(4));
    return options;
}

/// Returns the options with only the agents that are among the first `ranks` ranks.
inline FlatTerms agents_among(int ranks, FlatTerms options) {
    std::vector<Rank> agents(options.agents.ranks.begin(), options.agents.ranks.end());
    std::erase_if(agents, [&](Rank one) { return one >= ranks; });
    options.agents.ranks = std::move(agents);
    return options;
}

}  // namespace oratorio::test
