// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/decode.hpp"

#include "mpi/combiners.hpp"
#include "mpi/datatype_contents.hpp"
#include "mpi/elements.hpp"

namespace oratorio {
namespace {

Result<Bytes> size_of(MPI_Datatype type) {
    MPI_Count size = 0;
    if (auto asked = check(host().Type_size_x(type, &size), "asking for the size of a datatype");
        !asked)
        return asked.error();
    return Bytes{size};
}

/// Everything but the shape. Bounds come from the host, which knows the alignment rules it applied.
Result<DecodedType> bounds_of(MPI_Datatype type) {
    MPI_Count lower_bound = 0, extent = 0;
    const auto size = size_of(type);
    if (!size) return size.error();
    if (auto asked = check(host().Type_get_extent_x(type, &lower_bound, &extent),
                           "asking for the extent of a datatype");
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
    if (is_null(type)) return null_type();
    // Predefined types carry no attribute of ours and are never freed, so the last one will do.
    struct Last {
        MPI_Datatype type{};
        DecodedType decoded;
    };
    thread_local Last last;
    if (type == last.type) return last.decoded;
    if (auto known = shapes_->of(type)) return std::move(*known);
    const auto memory = kept_memory();
    auto contents = DatatypeContents::of(type, memory);
    if (!contents) return contents.error();
    auto decoded = bounds_of(type);
    if (!decoded) return decoded.error();
    if (contents->predefined()) {
        decoded->shape = predefined_shape(type, decoded->size);
        last = {type, *decoded};
        return decoded;
    }
    auto shape = derived_shape(*contents, memory);
    if (!shape) return shape.error();
    decoded->shape = std::move(*shape);
    if (decoded->shape->size() != decoded->size)
        return Error::make(ErrorKind::internal,
                           "decoded datatype has another size than the host says");
    return shapes_->keep(type, *decoded);
}

std::shared_ptr<KeptMemory> Decoder::keep_memory() {
    const std::lock_guard lock(mutex_);
    auto memory = memory_.lock();
    if (memory == nullptr) memory_ = memory = std::make_shared<KeptMemory>();
    return memory;
}

std::shared_ptr<KeptMemory> Decoder::kept_memory() {
    const std::lock_guard lock(mutex_);
    return memory_.lock();
}

Result<ShapePtr> Decoder::derived_shape(const DatatypeContents& contents,
                                        const std::shared_ptr<KeptMemory>& memory) {
    std::vector<DecodedType> members;
    members.reserve(contents.members().size());
    for (MPI_Datatype member : contents.members()) {
        auto decoded = decode(member);
        if (!decoded) return decoded.error();
        members.push_back(std::move(*decoded));
    }
    return combine(contents, members, memory);
}

Result<SignaturePtr> Decoder::signature(MPI_Datatype type) {
    if (is_null(type)) return null_type();
    if (auto known = signatures_->of(type)) return std::move(*known);
    const auto contents = DatatypeContents::of(type);
    if (!contents) return contents.error();
    if (contents->predefined()) return predefined_signature(type);
    auto derived = derived_signature(type, *contents);
    if (!derived) return derived;
    return signatures_->keep(type, *derived);
}

Result<SignaturePtr> Decoder::derived_signature(MPI_Datatype type,
                                                const DatatypeContents& contents) {
    std::vector<Signature::Part> parts;
    for (MPI_Datatype member : contents.members()) {
        auto nested = signature(member);
        if (!nested) return nested;
        parts.push_back({{}, std::move(*nested), 0});
    }
    if (contents.combiner() == MPI_COMBINER_STRUCT) {
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i].count = contents.number(1 + static_cast<std::int64_t>(i));
        return Signature::sequence(std::move(parts));
    }
    if (parts.size() != 1)
        return Error::make(ErrorKind::type, "datatype made by an unknown constructor");
    // All other constructors place whole copies of one type.
    const auto size = size_of(type);
    if (!size) return size.error();
    const Bytes each = parts.front().nested->total().memory;
    parts.front().count = each == 0 ? 0 : *size / each;
    return Signature::sequence(std::move(parts));
}

}  // namespace oratorio
