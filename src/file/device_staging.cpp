// SPDX-License-Identifier: BSD-3-Clause
#include "file/device_staging.hpp"

#include <utility>

namespace oratorio {

void DeviceStaging::stage(AccessCall& call, PlacedAccess& placed, bool looks_now) {
    if (devices_ == nullptr) return;
    placed.looked_for_devices = looks_now;
    if (looks_now) devices_->look();
    if (has_drivers()) (void)stage_if_of_device(call, placed);
}

bool DeviceStaging::stage_late(AccessCall& call, PlacedAccess& placed) {
    if (devices_ == nullptr || placed.looked_for_devices || call.conversion || placed.device)
        return false;
    devices_->look();
    return has_drivers() && stage_if_of_device(call, placed);
}

/// Stages the access if any of its memory is a device's, and returns true. Otherwise, or if the
/// access is refused, does nothing and returns false.
bool DeviceStaging::stage_if_of_device(AccessCall& call, PlacedAccess& placed) {
    Access& access = placed.access;
    if (access.refused.kind != ErrorKind::none) return false;
    const auto owned = devices_->owned_by_device(access.buffer, access.memory);
    if (!owned) return false;
    DeviceMemory memory{owned->driver, owned->address, access.buffer, std::move(access.memory)};
    const Bytes bytes = memory.layout.size();
    access.memory = Layout{Shape::run(bytes), bytes, 0, 1};
    // If the file ends between interleaving tiles, a read doesn't return the beginning of the
    // access's data.
    const bool has_scattered_end = access.direction == Direction::read && !access.file.searchable();
    const bool in_pieces = !call.conversion && !hints_->plan.atomic && !has_scattered_end;
    if (messages_.explains())
        messages_.warn(file_.path + ": memory of a device (" + memory.driver->name() + "): " +
                       (in_pieces ? "its data moves in pieces" : "each access moves as a whole") +
                       " through bounce buffers in host memory");
    if (in_pieces)
        placed.device.emplace(std::move(memory));
    else
        call.conversion = stage_whole(std::move(memory), std::move(call.conversion));
    return true;
}

}  // namespace oratorio
