// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file_layout.hpp"

#include <vector>

#include "mpi/combiners.hpp"
#include "mpi/datatype_contents.hpp"
#include "mpi/elements.hpp"
#include "mpi/type_walk.hpp"

namespace oratorio {
namespace {

/// A lower or upper bound of a datatype. A bound that a constructor has set outweighs bounds that
/// follow from data, however deep in the type it was set.
struct Bound {
    bool known = false;  ///< false for a type without entries
    bool set = false;
    Offset at = 0;
};

enum class Side { lower, upper };

Error too_large() {
    return Error::make(ErrorKind::type, "datatype reaches further than 2^62 bytes in the file");
}

struct Placed {
    DecodedType type;
    Bound lower;
    Bound upper;

    [[nodiscard]] const Bound& bound(Side side) const {
        return side == Side::lower ? lower : upper;
    }
};

/// Returns the outermost bound of the members where the constructor puts them, among the bounds
/// with this value of `set`. Represents each bound by one byte of data, so that combine() finds the
/// outermost one.
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
    if (!(*shape)->fits()) return too_large();
    if ((*shape)->size() == 0) return Bound{};
    const Extent span = (*shape)->span();
    return Bound{true, set, side == Side::lower ? span.begin : span.end};
}

Result<Bound> outermost(const DatatypeContents& contents, const std::vector<Placed>& members,
                        Side side) {
    auto bound = outermost(contents, members, side, true);
    return !bound || bound->known ? bound : outermost(contents, members, side, false);
}

Offset sum(Offset a, Bytes b) {
    Offset made = 0;
    return __builtin_add_overflow(a, b, &made) ? INT64_MAX : made;
}

/// Returns the number of elements of a whole array: the product of its `dimensions` sizes, which
/// begin at number `first` of the contents.
std::int64_t volume(const DatatypeContents& contents, std::int64_t first, std::int64_t dimensions) {
    std::int64_t elements = 1;
    for (std::int64_t i = 0; i < dimensions; ++i)
        elements = product(elements, contents.number(first + i));
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
            return between(contents.number(0), sum(contents.number(0), contents.number(1)));
        case MPI_COMBINER_SUBARRAY:
            return between(0, product(extent(), volume(contents, 1, contents.number(0))));
        case MPI_COMBINER_DARRAY:
            return between(0, product(extent(), volume(contents, 3, contents.number(2))));
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

Result<Placed> place(const DatatypeContents& contents, const std::vector<Placed>& members) {
    std::vector<DecodedType> types;
    for (const Placed& member : members) types.push_back(member.type);
    auto shape = combine(contents, types);
    if (!shape) return shape.error();
    if (!(*shape)->fits()) return too_large();
    Placed made;
    if (auto found = find_bounds(contents, members, made); !found) return found.error();
    Bytes extent = 0;
    if (__builtin_sub_overflow(made.upper.at, made.lower.at, &extent)) return too_large();
    made.type = {*shape, (*shape)->size(), made.lower.at, extent};
    return made;
}

}  // namespace

Result<DecodedType> file_layout(MPI_Datatype type, const FileSize& size) {
    const auto known = [&](MPI_Datatype one) -> Result<std::optional<Placed>> {
        const auto is_known = is_predefined(one);
        if (!is_known) return is_known.error();
        if (!*is_known) return std::optional<Placed>();
        auto placed = predefined(one, size);
        if (!placed) return placed.error();
        return std::optional(std::move(*placed));
    };
    const auto make = [](MPI_Datatype, const DatatypeContents& contents,
                         const std::vector<Placed>& members) { return place(contents, members); };
    auto placed = walk_datatype<Placed>(type, known, make);
    if (!placed) return placed.error();
    return std::move(placed->type);
}

}  // namespace oratorio
