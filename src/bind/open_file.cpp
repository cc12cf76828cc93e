// SPDX-License-Identifier: BSD-3-Clause
#include "bind/open_file.hpp"

#include <chrono>

#include "mpi/datatype_contents.hpp"
#include "mpi/errors_returned.hpp"

namespace oratorio::bind {

void FileMutex::let_in() {
    if (waiting_ == 0) return;
    ++lent_;
    const unsigned before = admitted_;
    unlock();
    while (waiting_ != 0 && admitted_ == before) std::this_thread::yield();
    lock();
    --lent_;
}

void FileMutex::wait_for_others() {
    using namespace std::chrono_literals;
    while (lent_ != 0) {
        unlock();
        std::this_thread::sleep_for(100us);
        lock();
    }
}

namespace {

/// Returns true for predefined types and types of MPI_Type_create_f90_real and similar calls, which
/// must not be freed (MPI-4.1, 14.3 and 19.1.9).
bool is_unfreeable(MPI_Datatype type) {
    const auto predefined = is_predefined(type);
    return predefined && *predefined;
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
