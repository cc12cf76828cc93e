// SPDX-License-Identifier: BSD-3-Clause
// A layout as a trace of Oratorio holds it (src/type/shape_codec says how its bytes are), said in
// both of the benchmark's ways: as a datatype, and as plain pieces. Read by itself, so that the
// library isn't compared with itself.
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

/// A tree. Offsets are bytes from the node's own beginning, parts are in the order of the data.
struct Node {
    enum class Kind { empty, run, strided, blocks, runs, mixed };

    Kind kind = Kind::empty;
    std::int64_t bytes = 0;  ///< of data
    std::int64_t count = 0;  ///< parts
    std::int64_t stride = 0;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> lengths;  ///< of runs
    std::vector<NodePtr> children;      ///< one, or of mixed ones one for each part

    std::int64_t offset_of(std::int64_t part) const;
    const Node& child(std::int64_t part) const;
};

/// Throws std::invalid_argument where the bytes aren't those of a shape.
NodePtr read_shape(std::span<const std::byte> bytes);

/// Tiles of a shape, `extent` bytes apart, the first at `origin`; as many as one asks for.
struct Tiles {
    NodePtr shape;
    std::int64_t extent = 0;
    std::int64_t origin = 0;
};

/// One tile, with its extent; not committed. Throws std::invalid_argument on counts too large for
/// MPI.
MPI_Datatype tile_type(const Tiles& tiles);
/// So many tiles; not committed.
MPI_Datatype tiles_type(const Tiles& tiles, std::int64_t count);

/// Gives contiguous pieces in the order of the data, without an end.
class Walk {
  public:
    struct Piece {
        std::int64_t offset = 0;
        std::int64_t bytes = 0;
    };

    /// Begins at a place in the data. The shape isn't empty.
    Walk(const Tiles& tiles, std::int64_t from);
    /// The next bytes that lie together: at most `most`, and not more than one piece.
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
    Piece left_;  ///< of the piece that is being given
};

}  // namespace bench
