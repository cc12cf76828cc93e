// SPDX-License-Identifier: BSD-3-Clause
#include "bind/open_file.hpp"

#include "mpi/errors_returned.hpp"

namespace oratorio::bind {

namespace {

/// Returns a datatype's combiner. Asks with large counts if the host has them: the plain function
/// fails for types made with large counts.
int combiner_of(MPI_Datatype type) {
    int combiner = 0;
    if (host().Type_get_envelope_c != nullptr) {
        MPI_Count counts[4] = {};
        host().Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &combiner);
    } else {
        int counts[3] = {};
        host().Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    }
    return combiner;
}

/// Returns true for predefined types and types of MPI_Type_create_f90_real and similar calls, which
/// must not be freed (MPI-4.1, 14.3 and 19.1.9).
bool is_unfreeable(MPI_Datatype type) {
    const int combiner = combiner_of(type);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
}

}  // namespace

Result<HeldType> HeldType::equivalent(MPI_Datatype type) {
    const ErrorsReturned returned;
    if (is_unfreeable(type)) return HeldType(type);
    HeldType held;
    int code = host().Type_contiguous(1, type, &held.type_);
    held.owned_ = code == MPI_SUCCESS;
    if (code == MPI_SUCCESS) code = host().Type_commit(&held.type_);
    if (code != MPI_SUCCESS)
        return Error::make(ErrorKind::type, "the datatype is invalid or can't be duplicated");
    return held;
}

Result<HeldType> HeldType::duplicate(MPI_Datatype type) {
    const ErrorsReturned returned;
    if (is_unfreeable(type)) return HeldType(type);
    HeldType held;
    if (host().Type_dup(type, &held.type_) != MPI_SUCCESS) return equivalent(type);
    held.owned_ = true;
    return held;
}

/// Frees the type. Callbacks that delete the program's attributes may fail; that error is dropped.
HeldType::~HeldType() {
    if (!owned_) return;
    const ErrorsReturned returned;
    host().Type_free(&type_);
}

int HeldType::copy_to(MPI_Datatype* copy) const {
    const ErrorsReturned returned;
    *copy = type_;
    return owned_ ? host().Type_dup(type_, copy) : MPI_SUCCESS;
}

}  // namespace oratorio::bind
