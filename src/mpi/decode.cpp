#include "mpi/decode.hpp"

#include "mpi/combiners.hpp"
#include "mpi/comm.hpp"
#include "mpi/datatype_contents.hpp"

namespace oratorio {
namespace {

// Shapes are shared, so a copy of a datatype gets a holder of its own: MPI deletes each attribute
// once.
int copy_decoded(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
    *static_cast<void**>(copy) = new DecodedType(*static_cast<const DecodedType*>(value));
    *flag = 1;
    return MPI_SUCCESS;
}

int delete_decoded(MPI_Datatype, int, void* value, void*) {
    delete static_cast<DecodedType*>(value);
    return MPI_SUCCESS;
}

/// Everything but the shape. Bounds come from the host, which knows the alignment rules it applied.
Result<DecodedType> bounds_of(MPI_Datatype type) {
    MPI_Count size = 0, lower_bound = 0, extent = 0;
    if (auto asked = check(host().Type_size_x(type, &size), "asking for the size of a datatype");
        !asked)
        return asked.error();
    if (auto asked = check(host().Type_get_extent_x(type, &lower_bound, &extent),
                           "asking for the extent of a datatype");
        !asked)
        return asked.error();
    return DecodedType{Shape::empty(), size, lower_bound, extent};
}

}  // namespace

Result<std::unique_ptr<Decoder>> Decoder::make() {
    int keyval = MPI_KEYVAL_INVALID;
    if (auto made = check(host().Type_create_keyval(copy_decoded, delete_decoded, &keyval, nullptr),
                          "making a datatype attribute");
        !made)
        return made.error();
    return std::unique_ptr<Decoder>(new Decoder(keyval));
}

Decoder::~Decoder() {
    if (!mpi_finalized()) host().Type_free_keyval(&keyval_);
}

const DecodedType* Decoder::known(MPI_Datatype type) const {
    void* value = nullptr;
    int found = 0;
    const int code = host().Type_get_attr(type, keyval_, &value, &found);
    return code == MPI_SUCCESS && found ? static_cast<const DecodedType*>(value) : nullptr;
}

Result<DecodedType> Decoder::decode(MPI_Datatype type) {
    if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL)
        return Error::make(ErrorKind::type, "null datatype");
    {
        const std::lock_guard lock(cache_);
        if (const DecodedType* decoded = known(type)) return *decoded;
    }
    auto contents = DatatypeContents::of(type);
    if (!contents) return contents.error();
    auto decoded = bounds_of(type);
    if (!decoded) return decoded.error();
    if (contents->predefined()) {
        decoded->shape = predefined_shape(type, decoded->size);
        return decoded;
    }
    auto shape = derived_shape(*contents);
    if (!shape) return shape.error();
    decoded->shape = std::move(*shape);
    if (decoded->shape->size() != decoded->size)
        return Error::make(ErrorKind::internal,
                           "decoded datatype has another size than the host says");
    return remember(type, *decoded);
}

Result<ShapePtr> Decoder::derived_shape(const DatatypeContents& contents) {
    std::vector<DecodedType> members;
    members.reserve(contents.members().size());
    for (MPI_Datatype member : contents.members()) {
        auto decoded = decode(member);
        if (!decoded) return decoded.error();
        members.push_back(std::move(*decoded));
    }
    return combine(contents, members);
}

Result<DecodedType> Decoder::remember(MPI_Datatype type, const DecodedType& decoded) {
    const std::lock_guard lock(cache_);
    if (const DecodedType* already = known(type)) return *already;  // another thread was faster
    auto holder = std::make_unique<DecodedType>(decoded);
    // Only a cache: a host without room for an attribute costs time, not correctness.
    if (host().Type_set_attr(type, keyval_, holder.get()) == MPI_SUCCESS) (void)holder.release();
    return decoded;
}

}  // namespace oratorio
