// SPDX-License-Identifier: BSD-3-Clause
// Layouts from a trace of Oratorio (src/type/shape_codec describes their bytes), in both forms that
// the benchmark uses: as a datatype, and as plain pieces. This code reads them by itself, so that
// the library isn't compared with itself.
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

/// A tree. Offsets are bytes from the node's own begin; parts are in the order of the data.
struct Node {
    enum class Kind { empty, run, strided, blocks, runs, mixed };

    Kind kind = Kind::empty;
    std::int64_t bytes = 0;  ///< of data
    std::int64_t count = 0;  ///< number of parts
    std::int64_t stride = 0;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> lengths;  ///< of Kind::runs
    std::vector<NodePtr> children;      ///< one, or for Kind::mixed one per part

    std::int64_t offset_of(std::int64_t part) const;
    const Node& child(std::int64_t part) const;
};

/// Throws std::invalid_argument if the bytes are not those of a shape.
NodePtr read_shape(std::span<const std::byte> bytes);

/// Tiles of a shape, `extent` bytes apart, the first at `origin`, without an end.
struct Tiles {
    NodePtr shape;
    std::int64_t extent = 0;
    std::int64_t origin = 0;
};

/// Returns the uncommitted type of one tile, with its extent. Throws std::invalid_argument on
/// counts too large for MPI.
MPI_Datatype tile_type(const Tiles& tiles);
/// Returns the uncommitted type of `count` tiles.
MPI_Datatype tiles_type(const Tiles& tiles, std::int64_t count);

/// Returns contiguous pieces in the order of the data, without an end.
class Walk {
  public:
    struct Piece {
        std::int64_t offset = 0;
        std::int64_t bytes = 0;
    };

    /// Begins at a place in the data. REQUIRES: the shape isn't empty.
    Walk(const Tiles& tiles, std::int64_t from);
    /// Returns the next contiguous bytes: at most `most`, and at most one piece.
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
