// SPDX-License-Identifier: BSD-3-Clause
// HostRoutine: one of the host MPI's own routines, for calls that are passed on to it.
#pragma once

#include <climits>

#include "bind/mpi_types.hpp"
#include "procedures.hpp"  // generated: declares all procedures, even those that mpi.h lacks

namespace oratorio::bind {

template <class Function>
class HostRoutine;

/// A routine, looked up once by name. Calling one that the host lacks reports that on stderr and
/// returns an error code, or an empty handle.
template <class Value, class... Arguments>
class HostRoutine<Value(Arguments...)> {
  public:
    explicit HostRoutine(const char* name)
        : name_(name), function_(reinterpret_cast<Value (*)(Arguments...)>(host_symbol(name))) {}
    [[nodiscard]] bool present() const { return function_ != nullptr; }
    Value operator()(Arguments... arguments) const {
        if (present()) return function_(arguments...);
        return lacking(static_cast<Value*>(nullptr));
    }

  private:
    [[nodiscard]] int lacking(int*) const { return tell_lacking(name_); }
    template <class Handle>
    [[nodiscard]] Handle lacking(Handle*) const {
        tell_lacking(name_);
        return Handle{};
    }
    static int tell_lacking(const char* name);

    const char* name_;
    Value (*function_)(Arguments...);
};

/// Reports a missing routine on stderr and returns MPI_ERR_UNSUPPORTED_OPERATION.
int host_lacks(const char* name);

template <class Value, class... Arguments>
int HostRoutine<Value(Arguments...)>::tell_lacking(const char* name) {
    return host_lacks(name);
}

[[nodiscard]] constexpr bool fits_int(MPI_Count count) {
    return count >= INT_MIN && count <= INT_MAX;
}

}  // namespace oratorio::bind

/// The host's own routine of that name, looked up at the first use.
#define ORATORIO_HOST(name)                                                            \
    ([]() -> const auto& {                                                             \
        static const ::oratorio::bind::HostRoutine<decltype(name)> routine("P" #name); \
        return routine;                                                                \
    }())
