// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/decode.hpp"

#include "mpi/combiners.hpp"
#include "mpi/datatype_contents.hpp"
#include "mpi/elements.hpp"
#include "mpi/predefined_layouts.hpp"
#include "mpi/type_walk.hpp"

namespace oratorio {
namespace {

Result<Bytes> size_of(MPI_Datatype type) {
    MPI_Count size = 0;
    if (auto asked = check(host().Type_size_x(type, &size), "reading the size of a datatype");
        !asked)
        return asked.error();
    return Bytes{size};
}

/// Returns the size and the bounds of a datatype, without its shape. The bounds come from the host,
/// which knows the alignment rules that it has applied.
Result<DecodedType> bounds_of(MPI_Datatype type) {
    MPI_Count lower_bound = 0, extent = 0;
    const auto size = size_of(type);
    if (!size) return size.error();
    if (auto asked = check(host().Type_get_extent_x(type, &lower_bound, &extent),
                           "reading the extent of a datatype");
        !asked)
        return asked.error();
    return DecodedType{Shape::empty(), *size, lower_bound, extent};
}

Error null_type() {
    return Error::make(ErrorKind::type, "null datatype");
}

bool is_null(MPI_Datatype type) {
    return type == MPI_Datatype{} || type == MPI_DATATYPE_NULL;
}

}  // namespace

Result<std::unique_ptr<Decoder>> Decoder::make() {
    auto shapes = Shapes::make();
    if (!shapes) return shapes.error();
    auto signatures = Signatures::make();
    if (!signatures) return signatures.error();
    return std::unique_ptr<Decoder>(new Decoder(std::move(*shapes), std::move(*signatures)));
}

Result<DecodedType> Decoder::decode(MPI_Datatype type) {
    auto kept = known_layout(type);
    if (!kept) return kept.error();
    if (*kept) return std::move(**kept);
    const auto memory = block_cache();
    const auto known = [this](MPI_Datatype one) { return known_layout(one); };
    const auto make = [&](MPI_Datatype one, const DatatypeContents& contents,
                          const std::vector<DecodedType>& members) -> Result<DecodedType> {
        auto layout = derived_layout(one, contents, members, memory);
        if (!layout) return layout;
        return shapes_->keep(one, *layout);
    };
    return walk_datatype<DecodedType>(type, known, make, memory);
}

/// Returns the layout of a predefined datatype or of one that was decoded before; else nothing.
Result<std::optional<DecodedType>> Decoder::known_layout(MPI_Datatype type) {
    if (is_null(type)) return null_type();
    if (const DecodedType* const known = find_predefined(type)) return std::optional(*known);
    if (auto known = shapes_->of(type)) return known;
    const auto predefined = is_predefined(type);
    if (!predefined) return predefined.error();
    if (!*predefined) return std::optional<DecodedType>();
    auto decoded = bounds_of(type);
    if (!decoded) return decoded.error();
    auto shape = predefined_shape(type, decoded->size, decoded->extent);
    if (!shape) return shape.error();
    decoded->shape = std::move(*shape);
    keep_predefined(type, *decoded);
    return std::optional(std::move(*decoded));
}

Result<DecodedType> Decoder::derived_layout(MPI_Datatype type, const DatatypeContents& contents,
                                            const std::vector<DecodedType>& members,
                                            const std::shared_ptr<BlockCache>& memory) {
    auto decoded = bounds_of(type);
    if (!decoded) return decoded.error();
    auto shape = combine(contents, members, memory);
    if (!shape) return shape.error();
    decoded->shape = std::move(*shape);
    if (!decoded->shape->fits())
        return Error::make(ErrorKind::type, "datatype reaches further than 2^62 bytes");
    if (decoded->shape->size() != decoded->size)
        return Error::make(ErrorKind::internal, "decoded datatype differs in size from the host's");
    return decoded;
}

std::shared_ptr<BlockCache> Decoder::keep_memory() {
    const std::lock_guard lock(mutex_);
    auto memory = memory_.lock();
    if (memory == nullptr) memory_ = memory = std::make_shared<BlockCache>();
    return memory;
}

std::shared_ptr<BlockCache> Decoder::block_cache() {
    const std::lock_guard lock(mutex_);
    return memory_.lock();
}

Result<SignaturePtr> Decoder::signature(MPI_Datatype type) {
    if (is_null(type)) return null_type();
    const auto known = [this](MPI_Datatype one) -> Result<std::optional<SignaturePtr>> {
        if (is_null(one)) return null_type();
        if (auto kept = signatures_->of(one)) return kept;
        const auto predefined = is_predefined(one);
        if (!predefined) return predefined.error();
        if (!*predefined) return std::optional<SignaturePtr>();
        auto elements = predefined_signature(one);
        if (!elements) return elements.error();
        return std::optional(std::move(*elements));
    };
    const auto make = [this](MPI_Datatype one, const DatatypeContents& contents,
                             const std::vector<SignaturePtr>& members) -> Result<SignaturePtr> {
        auto derived = derived_signature(one, contents, members);
        if (!derived) return derived;
        return signatures_->keep(one, *derived);
    };
    return walk_datatype<SignaturePtr>(type, known, make);
}

Result<SignaturePtr> Decoder::derived_signature(MPI_Datatype type, const DatatypeContents& contents,
                                                const std::vector<SignaturePtr>& members) {
    std::vector<Signature::Part> parts;
    for (const SignaturePtr& member : members) parts.push_back({{}, member, 0});
    if (contents.combiner() == MPI_COMBINER_STRUCT) {
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i].count = contents.number(1 + static_cast<std::int64_t>(i));
        return Signature::sequence(std::move(parts));
    }
    if (parts.size() != 1)
        return Error::make(ErrorKind::type,
                           "the datatype has a constructor that Oratorio does not know");
    // All constructors but MPI_Type_create_struct repeat one whole type.
    const auto size = size_of(type);
    if (!size) return size.error();
    const Bytes each = parts.front().nested->total().memory;
    parts.front().count = each == 0 ? 0 : *size / each;
    return Signature::sequence(std::move(parts));
}

}  // namespace oratorio
