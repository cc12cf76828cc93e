// SPDX-License-Identifier: BSD-3-Clause
// Layouts from a trace of Oratorio (src/type/shape_codec describes their bytes), in both forms that
// the benchmark uses: as a datatype, and as plain pieces. This code does not use the
// library to read them, so that the library isn't compared with itself.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bench {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// A shape as a tree. Offsets are in bytes from the start of the node. The parts are in the order
/// of the data.
struct Node {
    enum class Kind { empty, run, strided, blocks, runs, mixed };

    Kind kind = Kind::empty;
    std::int64_t bytes = 0;  ///< bytes of data in the node
    std::int64_t count = 0;  ///< number of parts
    std::int64_t stride = 0;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> lengths;  ///< lengths of the parts, only of Kind::runs
    std::vector<NodePtr> children;  ///< one per part of mixed, a single one for strided and blocks

    std::int64_t offset_of(std::int64_t part) const;
    const Node& child(std::int64_t part) const;
};

/// Decodes a shape. Throws std::invalid_argument if the bytes do not encode one.
NodePtr read_shape(std::span<const std::byte> bytes);

/// An endless sequence of tiles of one shape. The first tile is at `origin`, and tiles are `extent`
/// bytes apart.
struct Tiles {
    NodePtr shape;
    std::int64_t extent = 0;
    std::int64_t origin = 0;
};

/// Returns the type of one tile, with its extent, uncommitted. Throws std::invalid_argument if a
/// count is too large for MPI.
MPI_Datatype tile_type(const Tiles& tiles);
/// Returns the type of `count` tiles, uncommitted.
MPI_Datatype tiles_type(const Tiles& tiles, std::int64_t count);

/// Iterates over the contiguous pieces of an endless sequence of tiles, in the order of the data.
class Walk {
  public:
    struct Piece {
        std::int64_t offset = 0;
        std::int64_t bytes = 0;
    };

    /// Begins `from` bytes into the data. REQUIRES: the shape isn't empty.
    Walk(const Tiles& tiles, std::int64_t from);
    /// Returns the next contiguous bytes: at most `most`, and at most the rest of a piece.
    Piece next(std::int64_t most);

  private:
    struct Level {
        const Node* node;
        std::int64_t origin;
        std::int64_t part;
    };
    void enter(const Node& node, std::int64_t origin);
    void find_piece();

    Tiles tiles_;
    std::int64_t tile_;
    std::vector<Level> levels_;
    Piece left_;  ///< rest of the current piece
};

}  // namespace bench
