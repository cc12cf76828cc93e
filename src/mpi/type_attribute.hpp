// SPDX-License-Identifier: BSD-3-Clause
// TypeAttribute: keeps results about a datatype on the datatype itself.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "mpi/comm.hpp"

namespace oratorio {

/// An attribute that is copied with a datatype and freed with it. `Value` must be cheap to copy.
/// Thread-safe.
template <class Value>
class TypeAttribute {
  public:
    static Result<std::unique_ptr<TypeAttribute>> make() {
        int keyval = MPI_KEYVAL_INVALID;
        if (auto made = check(host().Type_create_keyval(copy, destroy, &keyval, nullptr),
                              "creating a datatype attribute");
            !made)
            return made.error();
        return std::unique_ptr<TypeAttribute>(new TypeAttribute(keyval));
    }
    ~TypeAttribute() {
        if (!mpi_finalized()) host().Type_free_keyval(&keyval_);
    }
    TypeAttribute(const TypeAttribute&) = delete;
    TypeAttribute& operator=(const TypeAttribute&) = delete;

    [[nodiscard]] std::optional<Value> of(MPI_Datatype type) {
        const std::lock_guard lock(using_);
        const Value* value = known(type);
        return value ? std::optional<Value>(*value) : std::nullopt;
    }
    /// Keeps a value on a datatype. Returns the value that is kept, which another thread may have
    /// set first.
    Value keep(MPI_Datatype type, const Value& value) {
        const std::lock_guard lock(using_);
        if (const Value* already = known(type)) return *already;
        auto holder = std::make_unique<Value>(value);
        // The attribute is only a cache: a host without room for it costs time, not correctness.
        if (host().Type_set_attr(type, keyval_, holder.get()) == MPI_SUCCESS)
            (void)holder.release();
        return value;
    }

  private:
    explicit TypeAttribute(int keyval) : keyval_(keyval) {}

    [[nodiscard]] const Value* known(MPI_Datatype type) const {
        void* value = nullptr;
        int found = 0;
        const int code = host().Type_get_attr(type, keyval_, &value, &found);
        return code == MPI_SUCCESS && found ? static_cast<const Value*>(value) : nullptr;
    }
    // A copy of a datatype gets a holder of its own: MPI deletes each attribute once.
    static int copy(MPI_Datatype, int, void*, void* value, void* copied, int* flag) {
        *static_cast<void**>(copied) = new Value(*static_cast<const Value*>(value));
        *flag = 1;
        return MPI_SUCCESS;
    }
    static int destroy(MPI_Datatype, int, void* value, void*) {
        delete static_cast<Value*>(value);
        return MPI_SUCCESS;
    }

    int keyval_;
    std::mutex using_;  ///< held while an attribute is looked up and then copied or set
};

}  // namespace oratorio
