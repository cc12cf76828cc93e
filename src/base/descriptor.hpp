// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: owns a file descriptor.
#pragma once

#include "base/result.hpp"

namespace oratorio {

/// If a new descriptor has the number 0, 1 or 2 (standard input, output or error), moves it to a
/// higher number and returns that; returns any other number unchanged. Without this, a program that
/// has closed one of these three could read or write the library's file by its number. Returns -1
/// with errno set, and the descriptor closed, if no higher number is free.
[[nodiscard]] int behind_standard(int number);

/// Owns a file descriptor. Calls such as open() and socket() give their result to such an owner
/// (dev/tidy.py checks it).
class Descriptor {
  public:
    /// Takes ownership of the result of a system call that makes a descriptor. If that call or
    /// behind_standard() failed, number() is -1 and errno is set.
    explicit Descriptor(int number) : number_(behind_standard(number)) {}
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    [[nodiscard]] int number() const { return number_; }
    /// Closes the descriptor. Returns the error of close(2) except EINTR, after which the
    /// descriptor is closed nevertheless. A second call does nothing.
    Result<void> close();

  private:
    int number_;
};

}  // namespace oratorio
