// SPDX-License-Identifier: BSD-3-Clause
// Workloads of scattered pieces: vec8, hpio (2014 paper), discontig, sparse, mar and ship (2001
// paper). docs/user/methods.md names the papers.
#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "makers.hpp"
#include "types.hpp"

namespace bench {

namespace {

using Random = std::mt19937_64;

/// Returns the numbers below `count` in an order that depends only on the state of the generator.
std::vector<std::uint64_t> shuffled(std::uint64_t count, Random& random) {
    std::vector<std::uint64_t> deck(count);
    std::iota(deck.begin(), deck.end(), std::uint64_t{0});
    for (std::size_t i = deck.size(); i > 1; --i) std::swap(deck[i - 1], deck[random() % i]);
    return deck;
}

/// Sorts offsets, because a view's offsets must not decrease.
std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> values) {
    std::sort(values.begin(), values.end());
    return values;
}

/// Returns `count` of the numbers below `of`, ascending.
std::vector<std::uint64_t> some(std::uint64_t count, std::uint64_t of, Random& random) {
    std::vector<std::uint64_t> deck = shuffled(of, random);
    deck.resize(count);
    return sorted(std::move(deck));
}

/// Returns an access to pieces of `bytes` bytes at ascending file offsets, contiguous in memory, in
/// one call.
Access pieces_at(const std::vector<std::uint64_t>& offsets, std::uint64_t bytes) {
    Access access;
    access.buffer_bytes = offsets.size() * bytes;
    access.calls.resize(1);
    access.calls[0].make_types = [=] {
        return Types{MPI_BYTE, scattered_bytes(offsets, bytes),
                     contiguous(offsets.size() * bytes, MPI_BYTE)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::size_t i = 0; i < offsets.size(); ++i) visit({i * bytes, offsets[i], bytes});
    };
    return access;
}

Holes holes_beside(const std::vector<std::vector<std::uint64_t>>& offsets, std::uint64_t bytes) {
    std::vector<Span> covered;
    for (const auto& of_rank : offsets) {
        for (const std::uint64_t offset : of_rank) covered.push_back({offset, offset + bytes});
    }
    return holes_between(std::move(covered));
}

/// Returns the access of one rank, from the offsets of all ranks.
Access pieces_of_ranks(std::vector<std::vector<std::uint64_t>> offsets, std::uint64_t bytes,
                       Place place) {
    Access access = pieces_at(sorted(offsets[static_cast<std::size_t>(place.rank)]), bytes);
    access.holes = holes_beside(offsets, bytes);
    return access;
}

/// `count` pieces of `bytes` bytes, at equal distances in the file and at equal distances in
/// memory.
struct Spaced {
    std::uint64_t count;
    std::uint64_t bytes;
    std::uint64_t file_first;
    std::uint64_t file_step;
    std::uint64_t memory_step;
};

Access spaced_pieces(const Spaced& s) {
    Access access;
    access.buffer_bytes = s.count * s.memory_step;
    access.calls.resize(1);
    access.calls[0].displacement = static_cast<MPI_Offset>(s.file_first);
    access.calls[0].make_types = [=] {
        return Types{MPI_BYTE, strided_bytes(s.count, s.bytes, s.file_step),
                     strided_bytes(s.count, s.bytes, s.memory_step)};
    };
    access.for_each_piece = [=](const PieceVisitor& visit) {
        for (std::uint64_t i = 0; i < s.count; ++i) {
            visit({i * s.memory_step, s.file_first + i * s.file_step, s.bytes});
        }
    };
    return access;
}

/// Returns true if the parameter is "gaps", false if it is "contiguous"; throws on another value.
bool has_gaps(const Params& params, const std::string& name) {
    const std::string& value = params.text(name);
    if (value != "gaps" && value != "contiguous") {
        throw std::invalid_argument(name + " must be gaps or contiguous, not " + value);
    }
    return value == "gaps";
}

}  // namespace

/// Makes the workload vec8: rank r owns every P-th double of the file, for P ranks. In memory a
/// rank's doubles are 16 bytes apart.
Access make_vec8(const Params& params, Place place, Direction) {
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    const auto rank = static_cast<std::uint64_t>(place.rank);
    return spaced_pieces({params.number("count"), 8, rank * 8, ranks * 8, 16});
}

/// Makes the workload hpio: regions with a gap after each. In the file the regions belong to the
/// ranks in turn; if the file has no gaps, each rank has one contiguous range instead.
Access make_hpio(const Params& params, Place place, Direction) {
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    const auto rank = static_cast<std::uint64_t>(place.rank);
    const std::uint64_t count = params.number("count");
    const std::uint64_t region = params.number("region");
    const std::uint64_t step = region + params.number("space", 0);
    const std::uint64_t memory_step = has_gaps(params, "memory") ? step : region;
    if (!has_gaps(params, "file")) {
        return spaced_pieces({count, region, rank * count * region, region, memory_step});
    }
    Access access = spaced_pieces({count, region, rank * step, ranks * step, memory_step});
    access.holes = periodic_holes(step, region);
    return access;
}

Access blocks_at_random(std::uint64_t block, std::uint64_t count, std::uint64_t region,
                        std::uint64_t seed, Place place) {
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    Random random(seed);
    const std::vector<std::uint64_t> deck = shuffled(count * ranks, random);
    const auto begin = deck.begin() + static_cast<std::ptrdiff_t>(count) * place.rank;
    const std::vector<std::uint64_t> mine =
        sorted({begin, begin + static_cast<std::ptrdiff_t>(count)});

    std::vector<std::uint64_t> offsets(count);
    std::transform(mine.begin(), mine.end(), offsets.begin(),
                   [=](std::uint64_t index) { return index * block; });
    Access access = pieces_at(offsets, block);
    access.calls.clear();
    for (std::uint64_t first = 0; first < count * ranks; first += region) {
        const auto from = std::lower_bound(mine.begin(), mine.end(), first);
        const auto until = std::lower_bound(from, mine.end(), first + region);
        std::vector<std::uint64_t> within;
        for (auto at = from; at < until; ++at) within.push_back((*at - first) * block);
        Call call;
        call.displacement = static_cast<MPI_Offset>(first * block);
        call.memory = static_cast<std::size_t>(from - mine.begin()) * block;
        call.make_types = [=] {
            return Types{MPI_BYTE, scattered_bytes(within, block),
                         contiguous(within.size() * block, MPI_BYTE)};
        };
        access.calls.push_back(call);
    }
    return access;
}

/// Makes the workload discontig: blocks that belong to the ranks at random and cover the file
/// without gaps. Each region of the file is written or read in a call of its own.
Access make_discontig(const Params& params, Place place, Direction) {
    const std::uint64_t block = params.number("block");
    const std::uint64_t region = std::max<std::uint64_t>(1, params.number("region") / block);
    const std::uint64_t all = region * params.number("regions");
    const std::uint64_t count = all / static_cast<std::uint64_t>(place.ranks);
    if (count == 0) throw std::invalid_argument("there are fewer blocks than ranks");
    return blocks_at_random(block, count, region, params.number("seed"), place);
}

/// Makes the workload sparse: stripes with space for one block of each rank. A rank has a block in
/// `sparsity` percent of the stripes.
Access make_sparse(const Params& params, Place place, Direction) {
    const std::uint64_t block = params.number("block");
    const std::uint64_t count = params.number("count");
    const std::uint64_t sparsity = params.number("sparsity");
    if (sparsity > 100) throw std::invalid_argument("sparsity must be a percentage from 1 to 100");
    const std::uint64_t stripes = (count * 100 + sparsity - 1) / sparsity;
    const auto ranks = static_cast<std::uint64_t>(place.ranks);

    Random random(params.number("seed"));
    std::vector<std::vector<std::uint64_t>> slots(stripes);
    for (auto& stripe : slots) stripe = shuffled(ranks, random);
    std::vector<std::vector<std::uint64_t>> offsets(ranks);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        for (const std::uint64_t stripe : some(count, stripes, random)) {
            offsets[rank].push_back((stripe * ranks + slots[stripe][rank]) * block);
        }
    }
    return pieces_of_ranks(std::move(offsets), block, place);
}

/// Makes the workload mar: large blocks of the file belong to the ranks at random, and in each of
/// its blocks a rank has a few random pieces.
Access make_mar(const Params& params, Place place, Direction) {
    const std::uint64_t block = params.number("block");
    const std::uint64_t piece = params.number("piece");
    const std::uint64_t pieces = params.number("pieces");
    const std::uint64_t blocks = params.number("blocks");
    if (piece * pieces > block) throw std::invalid_argument("a block is too small for its pieces");
    const auto ranks = static_cast<std::uint64_t>(place.ranks);

    Random random(params.number("seed"));
    const std::vector<std::uint64_t> deck = shuffled(blocks * ranks, random);
    std::vector<std::vector<std::uint64_t>> offsets(ranks);
    for (std::uint64_t i = 0; i < deck.size(); ++i) {
        for (const std::uint64_t at : some(pieces, block / piece, random)) {
            offsets[i / blocks].push_back(deck[i] * block + at * piece);
        }
    }
    return pieces_of_ranks(std::move(offsets), piece, place);
}

/// Makes the workload ship: blocks at random places of a file that has space for more. Each rank
/// moves a few blocks per independent call.
Access make_ship(const Params& params, Place place, Direction) {
    const std::uint64_t block = params.number("block");
    const std::uint64_t blocks = params.number("blocks");
    const std::uint64_t at_once = params.number("at_once");
    const std::uint64_t room = params.number("room");
    if (blocks % at_once != 0) throw std::invalid_argument("blocks must be a multiple of at_once");
    const auto ranks = static_cast<std::uint64_t>(place.ranks);

    Random random(params.number("seed"));
    const std::vector<std::uint64_t> deck = shuffled(blocks * ranks * room, random);
    std::vector<std::vector<std::uint64_t>> offsets(ranks);
    for (std::uint64_t i = 0; i < blocks * ranks; ++i) {
        offsets[i / blocks].push_back(deck[i] * block);
    }
    Access access = pieces_of_ranks(std::move(offsets), block, place);
    access.independent = true;
    Call& call = access.calls[0];
    call.times = blocks / at_once;
    call.memory_step = at_once * block;
    call.make_types = [make = call.make_types, bytes = at_once * block] {
        Types types = make();
        MPI_Type_free(&types.memory);
        types.memory = contiguous(bytes, MPI_BYTE);
        return types;
    };
    return access;
}

}  // namespace bench
