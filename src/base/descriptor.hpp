// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: owns a file descriptor.
#pragma once

#include "base/result.hpp"

namespace oratorio {

/// Moves a new descriptor behind those of standard input, output and error, and returns its number
/// there. A program that has closed one of these would otherwise read or write the library's file
/// by it. Returns -1 with errno set where `number` is -1 or there is no other descriptor.
[[nodiscard]] int behind_standard(int number);

/// Every descriptor that the library makes is owned by one of these (tools/tidy.py checks it).
class Descriptor {
  public:
    /// Takes what the system call that made it returned: a descriptor, or -1 with errno set.
    explicit Descriptor(int number) : number_(behind_standard(number)) {}
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    [[nodiscard]] int number() const { return number_; }
    /// Tells what close(2) told; a second call does nothing.
    Result<void> close();

  private:
    int number_;
};

}  // namespace oratorio
