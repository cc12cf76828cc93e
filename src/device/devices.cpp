// SPDX-License-Identifier: BSD-3-Clause
#include "device/devices.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "device/loaded.hpp"
#include "device/place_in.hpp"

namespace oratorio {

namespace {

struct Kind {
    std::string_view library;  ///< how the file name of the driver's library begins
    std::unique_ptr<DeviceDriver> (*make)(void* library);
};
constexpr std::array<Kind, 2> kKnown = {
    {{"libcuda.so", make_cuda_driver}, {"libamdhip64.so", make_hip_driver}}};

/// The driver libraries that are loaded.
struct Loaded {
    unsigned long long before = 0;  ///< number of libraries ever loaded, as of the last look()
    unsigned long long ever = 0;
    /// Path of each known library; "" if it isn't loaded, or if no library was loaded since
    /// `before`.
    std::array<std::string, kKnown.size()> paths;

    static Loaded since(unsigned long long before) {
        Loaded loaded{.before = before, .paths = {}};
        dl_iterate_phdr(look_at, &loaded);
        return loaded;
    }

  private:
    static int look_at(dl_phdr_info* info, std::size_t, void* data) {
        Loaded& loaded = *static_cast<Loaded*>(data);
        loaded.ever = info->dlpi_adds;
        if (loaded.ever == loaded.before) return 1;
        const std::string_view path(info->dlpi_name);
        const std::string_view name = path.substr(path.rfind('/') + 1);
        for (std::size_t i = 0; i < kKnown.size(); ++i)
            if (name.starts_with(kKnown[i].library)) loaded.paths[i] = path;
        return 0;
    }
};

/// Finds memory that a driver owns, with few driver calls.
class Search {
  public:
    Search(std::span<const std::unique_ptr<DeviceDriver>> drivers, const std::byte* base)
        : drivers_(drivers), base_(base) {}

    [[nodiscard]] std::optional<OwnedByte> owned_at(Offset offset) const {
        const std::byte* const address = place_in(base_, offset);
        for (const auto& driver : drivers_)
            if (driver->owns(address)) return OwnedByte{driver.get(), address};
        return std::nullopt;
    }

    /// Returns the first byte of the first part that a driver owns. Asks about every part that the
    /// shape lists, because members of a structure may be anywhere. Of equally spaced copies, asks
    /// about the first only, because all of them lie in the same memory.
    [[nodiscard]] std::optional<OwnedByte> owned_part(const Shape& shape, Offset origin) {
        if (shape.size() == 0) return std::nullopt;
        if (shape.kind() == Shape::Kind::run) return owned_near(origin);
        if (shape.kind() == Shape::Kind::strided) return owned_part(*shape.child(), origin);
        const bool runs = shape.kind() == Shape::Kind::runs;
        for (std::int64_t part = 0; part < shape.count(); ++part) {
            const Offset at = origin + shape.part_offset(part);
            const auto found = runs ? owned_near(at) : owned_part(*shape.child(part), at);
            if (found) return found;
        }
        return std::nullopt;
    }

  private:
    /// Asks the drivers about the byte. Returns nothing, without asking again, for the same 64 KiB
    /// block as in the last call, because device memory and host memory don't share such a block.
    [[nodiscard]] std::optional<OwnedByte> owned_near(Offset offset) {
        constexpr std::uintptr_t kNear = 64 << 10;
        const auto near = reinterpret_cast<std::uintptr_t>(place_in(base_, offset)) / kNear;
        if (near == last_) return std::nullopt;
        last_ = near;
        return owned_at(offset);
    }

    std::span<const std::unique_ptr<DeviceDriver>> drivers_;
    const std::byte* base_;
    std::uintptr_t last_ = UINTPTR_MAX;
};

}  // namespace

void Devices::look() {
    const unsigned long long before = libraries_.load(std::memory_order_acquire);
    const Loaded loaded = Loaded::since(before);
    if (loaded.ever == before) return;
    static_assert(kKnown.size() == kKinds);
    const std::lock_guard lock(looking_);
    std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < kKinds; ++i) {
        if (taken_[i] || loaded.paths[i].empty()) continue;
        void* const library = ::dlopen(loaded.paths[i].c_str(), RTLD_LAZY | RTLD_NOLOAD);
        auto driver = library != nullptr ? kKnown[i].make(library) : nullptr;
        if (driver == nullptr) continue;
        taken_[i] = true;
        drivers_[count++] = std::move(driver);
    }
    count_.store(count, std::memory_order_release);
    // Published last: other threads that see this value also see the new drivers, and look()
    // returns at once for them.
    libraries_.store(loaded.ever, std::memory_order_release);
}

std::optional<OwnedByte> Devices::owned_by_device(const std::byte* base,
                                                  const Layout& memory) const {
    const std::size_t count = count_.load(std::memory_order_acquire);
    const Shape& shape = *memory.shape;
    if (count == 0 || memory.count == 0 || shape.size() == 0) return std::nullopt;
    const std::span all(drivers_);
    Search search(all.first(count), base);
    if (const auto first = search.owned_at(memory.origin + shape.first_piece().begin)) return first;
    const Offset last =
        memory.origin + (memory.count - 1) * memory.extent + shape.last_piece().end - 1;
    if (const auto found = search.owned_at(last)) return found;
    return shape.contiguous() ? std::nullopt : search.owned_part(shape, memory.origin);
}

}  // namespace oratorio
