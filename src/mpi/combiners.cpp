// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/combiners.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "mpi/comm.hpp"
#include "type/joined_runs.hpp"

namespace oratorio {
namespace {

/// Returns `count` elements of a type, one after the other.
ShapePtr repeat(const DecodedType& type, std::int64_t count) {
    return Shape::strided(type.shape, count, type.extent);
}

/// Returns true if an element is one run and the next element follows it without a gap.
bool dense(const DecodedType& type) {
    return type.shape->kind() == Shape::Kind::run && type.extent == type.size;
}

using Memory = std::shared_ptr<BlockCache>;

List<Offset> numbers(const DatatypeContents& contents, std::int64_t first, std::int64_t count,
                     std::int64_t scale, const Memory& memory) {
    List<Offset> list(static_cast<std::size_t>(count), memory);
    contents.with_numbers(first, [&](const auto* number) {
        for (Offset& one : list) one = product(*number++, scale);
    });
    return list;
}

/// Returns the shape of MPI_Type_vector or hvector. Arguments: count, blocklength, stride. `scale`
/// is the unit of the stride in bytes.
ShapePtr vector_shape(const DatatypeContents& contents, const DecodedType& type, Bytes scale) {
    return Shape::strided(repeat(type, contents.number(1)), contents.number(0),
                          product(contents.number(2), scale));
}

/// Returns the shape of blocks of different lengths, for a type with dense elements.
template <class Length>
ShapePtr indexed_runs(const DatatypeContents& contents, const Length* length, Bytes size,
                      Bytes scale, const Memory& memory) {
    const std::int64_t count = contents.number(0);
    return contents.with_numbers(1 + count, [&](const auto* place) {
        const auto run_of = [=](std::int64_t i) {
            const Offset begin = product(place[i], scale);
            Offset end = 0;
            const bool far = __builtin_add_overflow(begin, product(length[i], size), &end);
            return Extent{begin, far ? INT64_MAX : end};
        };
        List<Offset> offsets(static_cast<std::size_t>(count), memory);
        return Shape::runs(JoinedRuns::of(count, run_of, std::move(offsets), memory));
    });
}

/// Returns the shape of MPI_Type_indexed or hindexed. Arguments: count, blocklengths[],
/// displacements[].
ShapePtr indexed_shape(const DatatypeContents& contents, const DecodedType& type, Bytes scale,
                       const Memory& memory) {
    const std::int64_t count = contents.number(0);
    return contents.with_numbers(1, [&](const auto* length) {
        const auto places = [&] { return numbers(contents, 1 + count, count, scale, memory); };
        if (std::adjacent_find(length, length + count, std::not_equal_to<>()) == length + count)
            return Shape::blocks(repeat(type, count > 0 ? *length : 0), places());
        if (dense(type)) return indexed_runs(contents, length, type.size, scale, memory);
        std::map<std::int64_t, ShapePtr> by_length;  // equal blocks are one shape object
        std::vector<ShapePtr> parts;
        parts.reserve(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) {
            ShapePtr& part = by_length[length[i]];
            if (!part) part = repeat(type, length[i]);
            parts.push_back(part);
        }
        return Shape::mixed(std::move(parts), places());
    });
}

/// Returns the shape of MPI_Type_create_indexed_block or hindexed_block. Arguments: count,
/// blocklength, displacements[].
ShapePtr indexed_block_shape(const DatatypeContents& contents, const DecodedType& type, Bytes scale,
                             const Memory& memory) {
    return Shape::blocks(repeat(type, contents.number(1)),
                         numbers(contents, 2, contents.number(0), scale, memory));
}

/// Returns the shape of MPI_Type_create_struct. Arguments: count, blocklengths[], displacements[],
/// and one type for each block.
ShapePtr struct_shape(const DatatypeContents& contents, std::span<const DecodedType> types,
                      const Memory& memory) {
    const std::int64_t count = contents.number(0);
    std::vector<ShapePtr> parts;
    parts.reserve(types.size());
    for (std::int64_t i = 0; i < count; ++i)
        parts.push_back(repeat(types[static_cast<std::size_t>(i)], contents.number(1 + i)));
    return Shape::mixed(std::move(parts), numbers(contents, 1 + count, count, 1, memory));
}

/// Returns the indices of an array's dimensions, the one that varies fastest first.
std::vector<std::int64_t> fastest_first(std::int64_t dimensions, std::int64_t order) {
    std::vector<std::int64_t> list(static_cast<std::size_t>(dimensions));
    for (std::int64_t i = 0; i < dimensions; ++i)
        list[static_cast<std::size_t>(i)] = order == MPI_ORDER_FORTRAN ? i : dimensions - 1 - i;
    return list;
}

/// Returns the shape of MPI_Type_create_subarray. Arguments: ndims, sizes[], subsizes[], starts[],
/// order.
ShapePtr subarray_shape(const DatatypeContents& contents, const DecodedType& type) {
    const std::int64_t dimensions = contents.number(0);
    ShapePtr shape = type.shape;
    Bytes stride = type.extent;
    for (const std::int64_t i : fastest_first(dimensions, contents.number(1 + 3 * dimensions))) {
        const std::int64_t subsize = contents.number(1 + dimensions + i);
        const std::int64_t start = contents.number(1 + 2 * dimensions + i);
        shape = Shape::moved(Shape::strided(shape, subsize, stride), product(start, stride));
        stride = product(stride, contents.number(1 + i));
    }
    return shape;
}

/// One dimension of a distributed array: `size` elements over `processes` processes, of which this
/// process is number `place`.
struct Distribution {
    std::int64_t kind = MPI_DISTRIBUTE_NONE;
    std::int64_t argument = MPI_DISTRIBUTE_DFLT_DARG;
    std::int64_t size = 0;
    std::int64_t processes = 1;
    std::int64_t place = 0;

    [[nodiscard]] std::int64_t block() const {
        if (kind == MPI_DISTRIBUTE_NONE) return size;
        if (argument != MPI_DISTRIBUTE_DFLT_DARG) return argument;
        return kind == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    }

    /// Returns the shape of this process's elements. Treats every distribution as cyclic: a block
    /// distribution has one turn.
    [[nodiscard]] ShapePtr shape(const ShapePtr& element, Bytes stride) const {
        const std::int64_t length = block();
        const std::int64_t first = (kind == MPI_DISTRIBUTE_NONE ? 0 : place) * length;
        const std::int64_t turn = processes * length;
        const std::int64_t left = std::max<std::int64_t>(size - first, 0);
        const std::int64_t full = left < length ? 0 : (left - length) / turn + 1;
        const std::int64_t rest = std::clamp<std::int64_t>(left - full * turn, 0, length);
        return Shape::mixed(
            {Shape::strided(Shape::strided(element, length, stride), full, product(turn, stride)),
             Shape::strided(element, rest, stride)},
            {product(first, stride), product(first + full * turn, stride)});
    }
};

/// Returns the shape of MPI_Type_create_darray. Arguments: size, rank, ndims, gsizes[], distribs[],
/// dargs[], psizes[], order. The process grid is always row-major.
ShapePtr darray_shape(const DatatypeContents& contents, const DecodedType& type) {
    const std::int64_t dimensions = contents.number(2);
    std::vector<Distribution> distributions(static_cast<std::size_t>(dimensions));
    std::int64_t rank = contents.number(1);
    for (std::int64_t i = dimensions - 1; i >= 0; --i) {
        const auto argument = [&](std::int64_t list) {
            return contents.number(3 + list * dimensions + i);
        };
        const std::int64_t processes = argument(3);
        distributions[static_cast<std::size_t>(i)] = {argument(1), argument(2), argument(0),
                                                      processes, rank % processes};
        rank /= processes;
    }
    ShapePtr shape = type.shape;
    Bytes stride = type.extent;
    for (const std::int64_t i : fastest_first(dimensions, contents.number(3 + 4 * dimensions))) {
        const Distribution& distribution = distributions[static_cast<std::size_t>(i)];
        shape = distribution.shape(shape, stride);
        stride = product(stride, distribution.size);
    }
    return shape;
}

/// Returns the offset of the int in a pair type of C in which a hole may precede it; 0 for any
/// other type (MPI_FLOAT_INT and MPI_2INT have no hole).
Offset second_of_pair(MPI_Datatype type) {
    struct Pair {
        MPI_Datatype type;
        Offset second;
    };
    struct Short {
        short value;
        int index;
    };
    struct Long {
        long value;
        int index;
    };
    struct Double {
        double value;
        int index;
    };
    struct LongDouble {
        long double value;
        int index;
    };
    const Pair pairs[] = {
        {MPI_SHORT_INT, offsetof(Short, index)},
        {MPI_LONG_INT, offsetof(Long, index)},
        {MPI_DOUBLE_INT, offsetof(Double, index)},
        {MPI_LONG_DOUBLE_INT, offsetof(LongDouble, index)},
    };
    for (const Pair& pair : pairs)
        if (pair.type == type) return pair.second;
    return 0;
}

/// Returns the shape of a pair. The host knows the alignment of the index, which ends the pair's
/// data.
Result<ShapePtr> shape_of_pair(MPI_Datatype type, const ValueIndex& pair, Bytes size) {
    MPI_Count index = 0, begin = 0, length = 0;
    int code = host().Type_size_x(pair.index, &index);
    if (code == MPI_SUCCESS) code = host().Type_get_true_extent_x(type, &begin, &length);
    if (auto asked = check(code, "reading the layout of a pair"); !asked) return asked.error();
    return Shape::runs({0, begin + length - index}, {size - index, index});
}

}  // namespace

Result<ShapePtr> predefined_shape(MPI_Datatype type, Bytes size, Bytes extent) {
    if (const Offset second = second_of_pair(type); second != 0) {
        constexpr Bytes kInt = sizeof(int);
        return Shape::runs({0, second}, {size - kInt, kInt});
    }
    if (size == extent) return Shape::run(size);
    const auto pair = value_index_of(type);
    if (!pair) return pair.error();
    return *pair ? shape_of_pair(type, **pair, size) : Shape::run(size);
}

Result<ShapePtr> combine(const DatatypeContents& contents, std::span<const DecodedType> members,
                         const std::shared_ptr<BlockCache>& memory) {
    const int combiner = contents.combiner();
    if (combiner == MPI_COMBINER_STRUCT) return struct_shape(contents, members, memory);
    if (members.size() != 1)
        return Error::make(ErrorKind::type,
                           "the datatype has a constructor that Oratorio does not know");
    const DecodedType& member = members.front();
    switch (combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            return member.shape;
        case MPI_COMBINER_CONTIGUOUS:
            return repeat(member, contents.number(0));
        case MPI_COMBINER_VECTOR:
            return vector_shape(contents, member, member.extent);
        case MPI_COMBINER_HVECTOR:
            return vector_shape(contents, member, 1);
        case MPI_COMBINER_INDEXED:
            return indexed_shape(contents, member, member.extent, memory);
        case MPI_COMBINER_HINDEXED:
            return indexed_shape(contents, member, 1, memory);
        case MPI_COMBINER_INDEXED_BLOCK:
            return indexed_block_shape(contents, member, member.extent, memory);
        case MPI_COMBINER_HINDEXED_BLOCK:
            return indexed_block_shape(contents, member, 1, memory);
        case MPI_COMBINER_SUBARRAY:
            return subarray_shape(contents, member);
        case MPI_COMBINER_DARRAY:
            return darray_shape(contents, member);
        default:
            return Error::make(ErrorKind::type,
                               "the datatype has a constructor that Oratorio does not know");
    }
}

}  // namespace oratorio
