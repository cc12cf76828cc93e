// SPDX-License-Identifier: BSD-3-Clause
#include "bind/datarep.hpp"

#include <cstring>
#include <map>
#include <mutex>

#include "bind/entry.hpp"
#include "bind/errors.hpp"
#include "bind/user_conversion.hpp"
#include "mpi/file_layout.hpp"
#include "type/external32.hpp"

namespace oratorio::bind {

namespace {

bool is_external32(const std::string& name) {
    return name == "external32";
}

/// The representations that the program has registered. No representation is ever removed, so
/// references to them stay valid.
class Registry {
  public:
    Error add(const std::string& name, const UserRepresentation& representation) {
        const std::lock_guard lock(mutex_);
        if (is_native(name) || is_external32(name) || !known_.emplace(name, representation).second)
            return Error::make(ErrorKind::duplicate_datarep,
                               "register datarep: this name is already registered");
        return {};
    }
    [[nodiscard]] const UserRepresentation* find(const std::string& name) const {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(name);
        return found == known_.end() ? nullptr : &found->second;
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::string, UserRepresentation> known_;
};

Registry& registry() {
    static Registry* const registry = new Registry;
    return *registry;
}

Error unknown_representation() {
    return Error::make(ErrorKind::unsupported_datarep,
                       "set view: no representation of this name is registered");
}

template <class Count>
ConversionFunction bound(int (*function)(void*, MPI_Datatype, Count, void*, MPI_Offset, void*),
                         void* extra_state) {
    if (function == nullptr) return {};
    return [=](void* user, MPI_Datatype type, std::int64_t count, void* file, MPI_Offset position) {
        return function(user, type, static_cast<Count>(count), file, position, extra_state);
    };
}

template <class Conversion>
int add(const char* name, Conversion* read, Conversion* write, MPI_Datarep_extent_function* extent,
        void* extra_state) {
    UserRepresentation representation{bound(read, extra_state), bound(write, extra_state), {}};
    if (extent != nullptr) {
        representation.extent = [=](MPI_Datatype type, MPI_Aint* bytes) {
            return extent(type, bytes, extra_state);
        };
    }
    return register_representation(name, representation);
}

}  // namespace

int register_representation(const char* name, const UserRepresentation& representation) {
    const Error error = catch_to_error([&] {
        if (name == nullptr || *name == '\0')
            return Error::make(ErrorKind::argument, "register datarep: the name is missing");
        // The longest name leaves room for the terminating null.
        if (::strnlen(name, MPI_MAX_DATAREP_STRING) == MPI_MAX_DATAREP_STRING) {
            return Error::make(ErrorKind::argument,
                               "register datarep: the name must be shorter than "
                               "MPI_MAX_DATAREP_STRING");
        }
        if (!representation.extent)
            return Error::make(ErrorKind::argument,
                               "register datarep: the extent function is a null pointer");
        return registry().add(name, representation);
    });
    return error.kind == ErrorKind::none ? MPI_SUCCESS : raise_default(error);
}

bool representation_known(const std::string& name) {
    return is_native(name) || is_external32(name) || registry().find(name) != nullptr;
}

Result<DecodedType> decode_in_file(const std::string& representation, MPI_Datatype type) {
    if (is_native(representation)) return decode(type);
    if (is_external32(representation)) {
        return file_layout(type, [](const Element& element) { return external32_size(element); });
    }
    const UserRepresentation* user = registry().find(representation);
    if (user == nullptr) return unknown_representation();
    return file_layout(type, sizes_in(*user));
}

Result<std::shared_ptr<Conversion>> conversion_for(const std::string& representation,
                                                   MPI_Datatype type, MPI_Count count) {
    const auto decoded = decode(type);
    if (!decoded) return decoded.error();
    const auto item = signature(type);
    if (!item) return item.error();
    const Layout memory{decoded->shape, decoded->extent, 0, count};
    if (is_external32(representation)) return external32_conversion(memory, *item);
    const UserRepresentation* user = registry().find(representation);
    if (user == nullptr) return unknown_representation();
    return user_conversion(*user, type, memory, *item);
}

int register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                     MPI_Datarep_conversion_function* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
    return add(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state);
}

int register_datarep(const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                     MPI_Datarep_conversion_function_c* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
    return add(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state);
}

}  // namespace oratorio::bind
