// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file_layout.hpp"

#include <vector>

#include "mpi/combiners.hpp"
#include "mpi/datatype_contents.hpp"
#include "mpi/elements.hpp"

namespace oratorio {
namespace {

/// A lower or upper bound. One that a constructor has set outweighs those that follow from data,
/// however deep it lies.
struct Bound {
    bool known = false;  ///< a type without entries has none
    bool set = false;
    Offset at = 0;
};

enum class Side { lower, upper };

struct Placed {
    DecodedType type;
    Bound lower;
    Bound upper;

    [[nodiscard]] const Bound& bound(Side side) const {
        return side == Side::lower ? lower : upper;
    }
};

/// The outermost of the members' bounds, set or not, where the constructor puts them. The rules for
/// data do this too: each bound is made a byte of its own.
Result<Bound> outermost(const DatatypeContents& contents, const std::vector<Placed>& members,
                        Side side, bool set) {
    const Bytes inside = side == Side::lower ? 0 : 1;
    std::vector<DecodedType> points;
    points.reserve(members.size());
    for (const Placed& member : members) {
        const Bound& bound = member.bound(side);
        DecodedType point = member.type;
        point.size = 1;
        point.shape = bound.known && bound.set == set
                          ? Shape::moved(Shape::run(1), bound.at - inside)
                          : Shape::empty();
        points.push_back(std::move(point));
    }
    const auto shape = combine(contents, points);
    if (!shape) return shape.error();
    if ((*shape)->size() == 0) return Bound{};
    const Extent span = (*shape)->span();
    return Bound{true, set, side == Side::lower ? span.begin : span.end};
}

Result<Bound> outermost(const DatatypeContents& contents, const std::vector<Placed>& members,
                        Side side) {
    auto bound = outermost(contents, members, side, true);
    return !bound || bound->known ? bound : outermost(contents, members, side, false);
}

/// Elements of the whole array: the product of the `dimensions` sizes from number `first`.
std::int64_t volume(const DatatypeContents& contents, std::int64_t first, std::int64_t dimensions) {
    std::int64_t elements = 1;
    for (std::int64_t i = 0; i < dimensions; ++i) elements *= contents.number(first + i);
    return elements;
}

Result<void> find_bounds(const DatatypeContents& contents, const std::vector<Placed>& members,
                         Placed& made) {
    const auto between = [&](Offset lower, Offset upper) {
        made.lower = {true, true, lower};
        made.upper = {true, true, upper};
        return Result<void>{};
    };
    const auto extent = [&] { return members.front().type.extent; };
    switch (contents.combiner()) {
        case MPI_COMBINER_RESIZED:
            return between(contents.number(0), contents.number(0) + contents.number(1));
        case MPI_COMBINER_SUBARRAY:
            return between(0, extent() * volume(contents, 1, contents.number(0)));
        case MPI_COMBINER_DARRAY:
            return between(0, extent() * volume(contents, 3, contents.number(2)));
        default:
            break;
    }
    const auto lower = outermost(contents, members, Side::lower);
    if (!lower) return lower.error();
    const auto upper = outermost(contents, members, Side::upper);
    if (!upper) return upper.error();
    made.lower = *lower;
    made.upper = *upper;
    return {};
}

Result<Placed> predefined(MPI_Datatype type, const FileSize& size) {
    const auto elements = predefined_signature(type);
    if (!elements) return elements.error();
    const auto sized = with_file_sizes(*elements, size);
    if (!sized) return sized.error();
    const Bytes bytes = (*sized)->total().file;
    return Placed{{Shape::run(bytes), bytes, 0, bytes}, {true, false, 0}, {true, false, bytes}};
}

Result<Placed> place(MPI_Datatype type, const FileSize& size) {
    const auto contents = DatatypeContents::of(type);
    if (!contents) return contents.error();
    if (contents->predefined()) return predefined(type, size);
    std::vector<Placed> members;
    std::vector<DecodedType> types;
    for (MPI_Datatype member : contents->members()) {
        auto placed = place(member, size);
        if (!placed) return placed;
        types.push_back(placed->type);
        members.push_back(std::move(*placed));
    }
    auto shape = combine(*contents, types);
    if (!shape) return shape.error();
    Placed made;
    if (auto found = find_bounds(*contents, members, made); !found) return found.error();
    made.type = {*shape, (*shape)->size(), made.lower.at, made.upper.at - made.lower.at};
    return made;
}

}  // namespace

Result<DecodedType> file_layout(MPI_Datatype type, const FileSize& size) {
    auto placed = place(type, size);
    if (!placed) return placed.error();
    return std::move(placed->type);
}

}  // namespace oratorio
