// SPDX-License-Identifier: BSD-3-Clause
// Result<T>: a value or an Error. A successful result allocates nothing. Errors are values, never
// exceptions.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/error.hpp"

namespace oratorio {

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : held_(std::in_place_index<1>, error) {}

    [[nodiscard]] bool ok() const { return held_.index() == 0; }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] T& value() { return std::get<0>(held_); }
    [[nodiscard]] const T& value() const { return std::get<0>(held_); }
    [[nodiscard]] const Error& error() const { return std::get<1>(held_); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

  private:
    std::variant<T, Error> held_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(error) {}

    [[nodiscard]] bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] const Error& error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

}  // namespace oratorio
