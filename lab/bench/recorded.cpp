// SPDX-License-Identifier: BSD-3-Clause
// Replays the collective accesses of a trace. The Python front end writes them to a file of numbers
// (lab/oratorio_lab/trace/accesses.py describes their order).
#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "layout.hpp"
#include "makers.hpp"
#include "types.hpp"

namespace bench {

namespace {

constexpr std::int64_t magic = 0x314343415441524f;  // "ORATACC1"
constexpr std::int64_t largest = std::int64_t{1} << 60;
constexpr std::int64_t page = 4096;

/// One rank's part of one access.
struct Part {
    Tiles file;
    std::int64_t from = 0;  ///< bytes of the view's data before the part
    Tiles memory;
    std::int64_t tiles = 0;  ///< tiles of memory; 0: the rank has no data

    std::int64_t bytes() const { return tiles == 0 ? 0 : tiles * memory.shape->bytes; }
};

struct Recorded {
    Direction direction = Direction::write;
    std::vector<Part> ranks;
};

class NumberReader {
  public:
    explicit NumberReader(const std::string& path)
        : in_(path, std::ios::binary | std::ios::ate), left_(in_.tellg() / 8), path_(path) {
        in_.seekg(0);
    }
    std::int64_t number() { return numbers(1).front(); }
    std::vector<std::int64_t> numbers(std::int64_t count) {
        if (!in_ || count < 0 || count > left_)
            throw std::invalid_argument("the file of recorded accesses is incomplete: " + path_);
        left_ -= count;
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        in_.read(reinterpret_cast<char*>(values.data()), count * 8);
        return values;
    }

  private:
    std::ifstream in_;
    std::int64_t left_;
    std::string path_;
};

std::vector<NodePtr> read_shapes(NumberReader& in) {
    std::vector<NodePtr> shapes;
    for (std::int64_t left = in.number(); left > 0; --left) {
        const std::int64_t bytes = in.number();
        const std::vector<std::int64_t> words = in.numbers(bytes < 0 ? -1 : (bytes + 7) / 8);
        shapes.push_back(
            read_shape(std::as_bytes(std::span(words)).first(static_cast<std::size_t>(bytes))));
    }
    return shapes;
}

const NodePtr& find(const std::vector<NodePtr>& shapes, std::int64_t number) {
    if (number < 0 || number >= static_cast<std::int64_t>(shapes.size()))
        throw std::invalid_argument("the recorded accesses name a shape that is missing");
    return shapes[static_cast<std::size_t>(number)];
}

Part read_part(NumberReader& in, const std::vector<NodePtr>& shapes) {
    const std::vector<std::int64_t> told = in.numbers(8);
    Part part;
    part.tiles = told[7];
    if (part.tiles == 0) return part;
    part.file = {find(shapes, told[2]), told[1], told[0]};
    part.from = told[3];
    part.memory = {find(shapes, told[6]), told[5], told[4]};
    std::int64_t bytes = 0;
    const bool odd = told[0] < 0 || part.from < 0 || part.from > largest || part.tiles < 0 ||
                     __builtin_mul_overflow(part.tiles, part.memory.shape->bytes, &bytes) ||
                     bytes > largest || part.file.shape->bytes == 0;
    if (odd)
        throw std::invalid_argument("the recorded accesses are damaged: a number is out of range");
    return part;
}

std::vector<Recorded> read(const std::string& path, Place place, Direction direction) {
    NumberReader in(path);
    if (in.number() != magic)
        throw std::invalid_argument("not a file of recorded accesses: " + path);
    const std::int64_t ranks = in.number();
    if (ranks != place.ranks)
        throw std::invalid_argument("the accesses were recorded on " + std::to_string(ranks) +
                                    (ranks == 1 ? " rank, not " : " ranks, not ") +
                                    std::to_string(place.ranks));
    const std::vector<NodePtr> shapes = read_shapes(in);
    std::vector<Recorded> all;
    for (std::int64_t left = in.number(); left > 0; --left) {
        Recorded one;
        one.direction = in.number() == 0 ? Direction::write : Direction::read;
        for (std::int64_t rank = 0; rank < ranks; ++rank)
            one.ranks.push_back(read_part(in, shapes));
        if (one.direction == direction) all.push_back(std::move(one));
    }
    return all;
}

/// Calls visit(offset in memory, offset in the file, bytes) for each contiguous piece of the part.
template <typename Visit>
void visit_pieces(const Part& part, const Visit& visit) {
    std::int64_t left = part.bytes();
    if (left == 0) return;
    Walk file(part.file, part.from);
    Walk memory(part.memory, 0);
    while (left > 0) {
        const Walk::Piece there = file.next(left);
        if (there.offset < 0 || there.offset > largest)
            throw std::invalid_argument("a recorded access has a file offset out of range");
        for (std::int64_t done = 0; done < there.bytes;) {
            const Walk::Piece here = memory.next(there.bytes - done);
            visit(here.offset, there.offset + done, here.bytes);
            done += here.bytes;
        }
        left -= there.bytes;
    }
}

/// A part, with the place of its memory in the buffer that all calls share.
struct Placed {
    Part part;
    std::int64_t shift = 0;  ///< distance from the recorded offsets to those in the buffer
};

/// Assigns the parts places in the buffer, one after another, each at the start of a page. Returns
/// the buffer's length.
std::int64_t place_all(std::vector<Placed>& parts) {
    std::int64_t end = 0;
    for (Placed& placed : parts) {
        std::int64_t first = largest;
        std::int64_t last = -largest;
        visit_pieces(placed.part, [&](std::int64_t memory, std::int64_t, std::int64_t bytes) {
            first = std::min(first, memory);
            last = std::max(last, memory + bytes);
        });
        if (last < first) continue;
        placed.shift = end - first;
        end = (end + last - first + page - 1) / page * page;
    }
    return end;
}

/// The bytes of the file that any rank accesses, as one bit per byte.
class Covered {
  public:
    void add(std::uint64_t begin, std::uint64_t bytes) {
        if (bits_.size() < begin + bytes) bits_.resize(begin + bytes);
        std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(begin), bytes, true);
    }
    Holes holes() && {
        if (std::find(bits_.begin(), bits_.end(), false) == bits_.end()) return {};
        const auto bits = std::make_shared<const std::vector<bool>>(std::move(bits_));
        return {[bits](std::uint64_t offset) {
            if (offset >= bits->size()) return no_span;
            const auto place = bits->begin() + static_cast<std::ptrdiff_t>(offset);
            const auto begin = std::find(place, bits->end(), false);
            if (begin == bits->end()) return no_span;
            const auto end = std::find(begin, bits->end(), true);
            return Span{static_cast<std::uint64_t>(begin - bits->begin()),
                        static_cast<std::uint64_t>(end - bits->begin())};
        }};
    }

  private:
    std::vector<bool> bits_;
};

Holes holes_of(const std::vector<Recorded>& all) {
    Covered covered;
    for (const Recorded& one : all)
        for (const Part& part : one.ranks)
            visit_pieces(part, [&](std::int64_t, std::int64_t file, std::int64_t bytes) {
                covered.add(static_cast<std::uint64_t>(file), static_cast<std::uint64_t>(bytes));
            });
    return std::move(covered).holes();
}

/// Returns the types of a rank without data. The view needs a filetype that isn't empty.
Types no_types() {
    return {MPI_BYTE, contiguous(1, MPI_BYTE), contiguous(0, MPI_BYTE)};
}

Types types_of(const Placed& placed) {
    const Part& part = placed.part;
    if (part.tiles == 0) return no_types();
    MPI_Datatype all = tiles_type(part.memory, part.tiles);
    const MPI_Aint place = static_cast<MPI_Aint>(part.memory.origin + placed.shift);
    MPI_Datatype memory;
    MPI_Type_create_hindexed_block(1, 1, &place, all, &memory);
    MPI_Type_free(&all);
    return {MPI_BYTE, committed(tile_type(part.file)), committed(memory)};
}

}  // namespace

Access make_recorded(const Params& params, Place place, Direction direction) {
    const std::vector<Recorded> all = read(params.text("accesses"), place, direction);
    const auto mine = std::make_shared<std::vector<Placed>>();
    for (const Recorded& one : all)
        mine->push_back({one.ranks[static_cast<std::size_t>(place.rank)], 0});
    Access access;
    access.buffer_bytes = static_cast<std::size_t>(place_all(*mine));
    if (direction == Direction::write) access.holes = holes_of(all);
    access.own_file = direction == Direction::read;
    for (std::size_t i = 0; i < mine->size(); ++i) {
        const Part& part = (*mine)[i].part;
        access.calls.push_back({.displacement = static_cast<MPI_Offset>(part.file.origin),
                                .make_types = [mine, i] { return types_of((*mine)[i]); },
                                .from = static_cast<MPI_Offset>(part.from)});
    }
    access.for_each_piece = [mine](const PieceVisitor& visit) {
        for (const Placed& placed : *mine)
            visit_pieces(
                placed.part, [&](std::int64_t memory, std::int64_t file, std::int64_t bytes) {
                    visit({static_cast<std::size_t>(memory + placed.shift),
                           static_cast<std::uint64_t>(file), static_cast<std::size_t>(bytes)});
                });
    };
    return access;
}

}  // namespace bench
