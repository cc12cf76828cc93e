// Data access: one implementation for every blocking read and write.
#include "bind/entry.hpp"
#include "bind/status.hpp"
#include "bind/with_file.hpp"

namespace oratorio::bind {

namespace {

/// Fills in the memory side, or why it can't be.
Error describe_memory(const AccessForm& form, AccessCall& call) {
    if (form.count < 0) return Error::make(ErrorKind::count, "access: the count is negative");
    if (form.datatype == MPI_DATATYPE_NULL)
        return Error::make(ErrorKind::type, "access: the datatype is MPI_DATATYPE_NULL");
    const auto type = decode(form.datatype);
    if (!type) return type.error();
    const Shape& shape = *type->shape;
    // A null buffer is MPI_BOTTOM when the datatype holds addresses.
    if (form.buffer == nullptr && form.count > 0 && shape.size() > 0 && shape.span().begin == 0) {
        return Error::make(ErrorKind::buffer, "access: the buffer is a null pointer");
    }
    call.memory = {type->shape, type->extent, 0, form.count};
    // MPI writes declare the buffer const, and no part of the engine writes to the memory of a
    // write.
    call.buffer = static_cast<std::byte*>(const_cast<void*>(form.buffer));
    return {};
}

AccessCall call_of(const AccessForm& form) {
    AccessCall call;
    call.direction = form.direction;
    call.collective = form.collective;
    call.explicit_offset = form.offset != nullptr;
    if (form.offset != nullptr) call.offset = *form.offset;
    call.refused = describe_memory(form, call);
    return call;
}

}  // namespace

int access(const AccessForm& form, MPI_File fh) {
    return with_file(fh, form.collective ? Scope::all_ranks : Scope::one_rank, [&](OpenFile& open) {
        const Outcome outcome = open.file->access(call_of(form));
        set_status(form.status, outcome.bytes);
        return outcome.error;
    });
}

}  // namespace oratorio::bind
