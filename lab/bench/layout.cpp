// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <algorithm>
#include <stdexcept>

#include "types.hpp"

namespace bench {

namespace {

constexpr int deepest = 500;
constexpr std::int64_t most = std::int64_t{1} << 60;

std::invalid_argument damaged() {
    return std::invalid_argument("a shape of the recorded accesses is damaged");
}

class ShapeReader {
  public:
    explicit ShapeReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    /// Reads a layout: skips three numbers, then reads the shape.
    NodePtr layout() {
        for (int i = 0; i < 3; ++i) number();
        NodePtr shape = node(0);
        if (!bytes_.empty()) throw damaged();
        return shape;
    }

  private:
    std::uint8_t byte() {
        if (bytes_.empty()) throw damaged();
        const auto value = static_cast<std::uint8_t>(bytes_.front());
        bytes_ = bytes_.subspan(1);
        return value;
    }

    /// Reads a number of 7 bits per byte, the lowest bits first. Bit 0 is the sign.
    std::int64_t number() {
        std::uint64_t bits = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = byte();
            bits |= static_cast<std::uint64_t>(next & 0x7f) << shift;
            if (next < 0x80)
                return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
        }
        throw damaged();
    }

    std::int64_t number_in(std::int64_t least) {
        const std::int64_t value = number();
        if (value < least || value > most) throw damaged();
        return value;
    }

    /// Reads `count` numbers. Each takes at least one byte, so that a damaged count cannot request
    /// much memory.
    std::vector<std::int64_t> numbers(std::int64_t count, bool differences) {
        if (count > static_cast<std::int64_t>(bytes_.size())) throw damaged();
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        std::int64_t last = 0;
        for (std::int64_t& value : values) {
            value = differences ? last + number_in(-most) : number_in(1);
            if (value < -most || value > most) throw damaged();
            last = value;
        }
        return values;
    }

    NodePtr node(int depth) {
        Node node;
        const std::uint8_t kind = byte();
        if (kind > static_cast<std::uint8_t>(Node::Kind::mixed) || depth > deepest) throw damaged();
        node.kind = static_cast<Node::Kind>(kind);
        if (node.kind == Node::Kind::run) node.bytes = number_in(1);
        if (kind > static_cast<std::uint8_t>(Node::Kind::run)) parts(node, depth);
        return std::make_shared<const Node>(std::move(node));
    }

    void parts(Node& node, int depth) {
        node.count = number_in(1);
        if (node.kind == Node::Kind::strided)
            node.stride = number_in(-most);
        else
            node.offsets = numbers(node.count, true);
        if (node.kind == Node::Kind::runs) {
            node.lengths = numbers(node.count, false);
            for (const std::int64_t length : node.lengths) add(node, length, 1);
            return;
        }
        const std::int64_t children = node.kind == Node::Kind::mixed ? node.count : 1;
        for (std::int64_t i = 0; i < children; ++i) {
            node.children.push_back(this->node(depth + 1));
            add(node, node.children.back()->bytes, node.count / children);
        }
    }

    static void add(Node& node, std::int64_t bytes, std::int64_t times) {
        std::int64_t all = 0;
        if (__builtin_mul_overflow(bytes, times, &all) || all > most - node.bytes) throw damaged();
        node.bytes += all;
    }

    std::span<const std::byte> bytes_;
};

MPI_Datatype type_of(const Node& node);

std::vector<MPI_Aint> places_of(const Node& node) {
    return {node.offsets.begin(), node.offsets.end()};
}

MPI_Datatype mixed_type(const Node& node) {
    const std::vector<MPI_Aint> places = places_of(node);
    const std::vector<int> ones(places.size(), 1);
    std::vector<MPI_Datatype> children;
    for (const NodePtr& child : node.children) children.push_back(type_of(*child));
    MPI_Datatype type;
    MPI_Type_create_struct(to_int(places.size()), ones.data(), places.data(), children.data(),
                           &type);
    for (MPI_Datatype& child : children) MPI_Type_free(&child);
    return type;
}

MPI_Datatype runs_type(const Node& node) {
    const std::vector<MPI_Aint> places = places_of(node);
    std::vector<int> lengths;
    for (const std::int64_t length : node.lengths)
        lengths.push_back(to_int(static_cast<std::uint64_t>(length)));
    MPI_Datatype type;
    MPI_Type_create_hindexed(to_int(places.size()), lengths.data(), places.data(), MPI_BYTE, &type);
    return type;
}

MPI_Datatype type_of(const Node& node) {
    if (node.kind == Node::Kind::mixed) return mixed_type(node);
    if (node.kind == Node::Kind::runs) return runs_type(node);
    MPI_Datatype type;
    if (node.children.empty()) {
        MPI_Type_contiguous(to_int(static_cast<std::uint64_t>(node.bytes)), MPI_BYTE, &type);
        return type;
    }
    const int count = to_int(static_cast<std::uint64_t>(node.count));
    MPI_Datatype child = type_of(*node.children.front());
    if (node.kind == Node::Kind::strided)
        MPI_Type_create_hvector(count, 1, static_cast<MPI_Aint>(node.stride), child, &type);
    else
        MPI_Type_create_hindexed_block(count, 1, places_of(node).data(), child, &type);
    MPI_Type_free(&child);
    return type;
}

}  // namespace

std::int64_t Node::offset_of(std::int64_t part) const {
    return kind == Kind::strided ? part * stride : offsets[static_cast<std::size_t>(part)];
}

const Node& Node::child(std::int64_t part) const {
    return *children[kind == Kind::mixed ? static_cast<std::size_t>(part) : 0];
}

NodePtr read_shape(std::span<const std::byte> bytes) {
    return ShapeReader(bytes).layout();
}

MPI_Datatype tile_type(const Tiles& tiles) {
    MPI_Datatype shape = type_of(*tiles.shape);
    MPI_Datatype tile;
    MPI_Type_create_resized(shape, 0, static_cast<MPI_Aint>(tiles.extent), &tile);
    MPI_Type_free(&shape);
    return tile;
}

MPI_Datatype tiles_type(const Tiles& tiles, std::int64_t count) {
    if (count == 1) return tile_type(tiles);
    MPI_Datatype tile = tile_type(tiles);
    MPI_Datatype all = MPI_DATATYPE_NULL;
    const int times = to_int(static_cast<std::uint64_t>(count));
    MPI_Type_contiguous(times, tile, &all);
    MPI_Type_free(&tile);
    return all;
}

Walk::Walk(const Tiles& tiles, std::int64_t from)
    : tiles_(tiles), tile_(from / tiles.shape->bytes - 1) {
    for (std::int64_t left = from % tiles.shape->bytes; left > 0;) left -= next(left).bytes;
}

Walk::Piece Walk::next(std::int64_t most_bytes) {
    if (left_.bytes == 0) find_piece();
    const Piece piece{left_.offset, std::min(left_.bytes, most_bytes)};
    left_.offset += piece.bytes;
    left_.bytes -= piece.bytes;
    return piece;
}

void Walk::enter(const Node& node, std::int64_t origin) {
    if (node.kind == Node::Kind::run)
        left_ = {origin, node.bytes};
    else
        levels_.push_back({&node, origin, 0});
}

void Walk::find_piece() {
    while (left_.bytes == 0) {
        if (levels_.empty()) {
            ++tile_;
            enter(*tiles_.shape, tiles_.origin + tile_ * tiles_.extent);
            continue;
        }
        Level& level = levels_.back();
        if (level.part == level.node->count) {
            levels_.pop_back();
            continue;
        }
        const std::int64_t part = level.part++;
        const std::int64_t origin = level.origin + level.node->offset_of(part);
        if (level.node->kind == Node::Kind::runs)
            left_ = {origin, level.node->lengths[static_cast<std::size_t>(part)]};
        else
            enter(level.node->child(part), origin);
    }
}

}  // namespace bench
