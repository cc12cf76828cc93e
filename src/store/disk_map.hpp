// SPDX-License-Identifier: BSD-3-Clause
// DiskMap: where the bytes of an open file lie on its device, as far as the file system tells.
#pragma once

#include <vector>

#include "base/place.hpp"

namespace oratorio {

class DiskMap {
  public:
    virtual ~DiskMap() = default;
    DiskMap() = default;
    DiskMap(const DiskMap&) = delete;
    DiskMap& operator=(const DiskMap&) = delete;

    /// Of bytes in `range`, in the order of the file, at most `most`. Holes have no place, nor do
    /// bytes that the system hasn't written back; no byte has one where it can't be asked. May be
    /// old at once.
    [[nodiscard]] virtual std::vector<Place> places(Extent range, std::size_t most) const = 0;
};

/// Asks Linux (FIEMAP).
class ExtentMap final : public DiskMap {
  public:
    /// The descriptor stays the caller's.
    explicit ExtentMap(int descriptor) : descriptor_(descriptor) {}
    [[nodiscard]] std::vector<Place> places(Extent range, std::size_t most) const override;

  private:
    int descriptor_;
};

}  // namespace oratorio
