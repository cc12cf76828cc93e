// SPDX-License-Identifier: BSD-3-Clause
// DeviceStaging: moves the data of accesses with device memory through bounce buffers in host
// memory: as a whole, like data that is converted, if conversion, atomic mode or a read with
// interleaving tiles needs all data at once; otherwise in pieces. Private to src/file.
#pragma once

#include "device/devices.hpp"
#include "file/file_hints.hpp"
#include "file/placed_access.hpp"

namespace oratorio {

class DeviceStaging {
  public:
    /// `devices` may be null: all memory is host memory. All other arguments outlive the staging.
    DeviceStaging(Devices* devices, const OpenedFile& file, const FileHints& hints,
                  UserMessages& messages)
        : devices_(devices), file_(file), hints_(hints), messages_(messages) {}

    /// Returns true if memory may be a device's: a driver has been found.
    [[nodiscard]] bool has_drivers() const { return devices_ != nullptr && devices_->any(); }
    /// Stages the access if its memory is a device's. `looks_now`: first looks for drivers that
    /// were loaded since the last look, because stage_late() would come too late for this access.
    void stage(AccessCall& call, PlacedAccess& placed, bool looks_now);
    /// Looks for device drivers, because one may have been loaded since the last look, and stages
    /// the access if its memory is a device's. Does nothing if stage() has looked for drivers or
    /// staged the access, or if the access has a conversion. Returns true if it staged the access,
    /// which must then still be moved. Called before Oratorio copies data itself, and after the
    /// system could not reach the memory (EFAULT).
    [[nodiscard]] bool stage_late(AccessCall& call, PlacedAccess& placed);

  private:
    bool stage_if_of_device(AccessCall& call, PlacedAccess& placed);

    Devices* devices_;
    const OpenedFile& file_;
    const FileHints& hints_;
    UserMessages& messages_;
};

}  // namespace oratorio
