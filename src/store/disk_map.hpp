// SPDX-License-Identifier: BSD-3-Clause
// DiskMap: where the bytes of an open file lie on its device, if the file system reports that.
#pragma once

#include <vector>

#include "base/disk_extent.hpp"

namespace oratorio {

class DiskMap {
  public:
    virtual ~DiskMap() = default;
    DiskMap() = default;
    DiskMap(const DiskMap&) = delete;
    DiskMap& operator=(const DiskMap&) = delete;

    /// Returns the disk extents of the bytes in `range`, in file order, at most `most` of them.
    /// Leaves out holes and bytes that aren't written back yet; returns an empty list if the system
    /// doesn't report extents. The result may be outdated at once.
    [[nodiscard]] virtual std::vector<DiskExtent> places(Extent range, std::size_t most) const = 0;
};

/// The DiskMap of Linux file systems: asks the system by ioctl(2) (FIEMAP).
class ExtentMap final : public DiskMap {
  public:
    /// The caller owns the descriptor.
    explicit ExtentMap(int descriptor) : descriptor_(descriptor) {}
    [[nodiscard]] std::vector<DiskExtent> places(Extent range, std::size_t most) const override;

  private:
    int descriptor_;
};

}  // namespace oratorio
