// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: owns a file descriptor.
#pragma once

#include "base/result.hpp"

namespace oratorio {

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
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
