// SPDX-License-Identifier: BSD-3-Clause
// Moves the data of an access to or from device memory through host memory, all at once.
#include <algorithm>
#include <new>

#include "base/direction.hpp"
#include "device/device_memory.hpp"
#include "device/place_in.hpp"

namespace oratorio {

namespace {

Error first_of(const Error& one, const Error& other) {
    return one.kind != ErrorKind::none ? one : other;
}

/// Returns the range from the first byte of a layout to its last.
Extent hull_of(const Layout& layout) {
    const Offset tiles = (layout.count - 1) * layout.extent;
    const Extent span = layout.shape->span();
    return {layout.origin + span.begin + std::min<Offset>(tiles, 0),
            layout.origin + span.end + std::max<Offset>(tiles, 0)};
}

/// A mirror of the user's data in host memory. The data has the same layout as on the device,
/// because a conversion needs the user's layout.
class HostMirror {
  public:
    explicit HostMirror(const DeviceMemory& memory)
        : memory_(memory),
          hull_(hull_of(memory.layout)),
          bytes_(new (std::nothrow) std::byte[static_cast<std::size_t>(hull_.length())]) {}

    [[nodiscard]] Error error() const {
        return bytes_ ? Error{}
                      : Error::make(
                            ErrorKind::no_memory,
                            "not enough memory to stage device data: access less data per call");
    }
    [[nodiscard]] std::byte* base() const { return place_in(bytes_.get(), -hull_.begin); }
    /// Copies the data positions `part`: from the device to the mirror for a write, and back for a
    /// read.
    Error copy(DeviceQueue& queue, Direction direction, Extent part) const {
        Cursor cursor(memory_.layout);
        cursor.seek_size(part.begin);
        Bytes bytes = part.length();
        Error error;
        while (bytes > 0 && error.kind == ErrorKind::none) {
            const StridedRun run = cursor.next(bytes);
            bytes -= run.bytes();
            std::byte* const here = place_in(base(), run.offset);
            std::byte* const there = place_in(memory_.base, run.offset);
            const bool out = direction == Direction::write;
            error = start_rows(queue, {out ? here : there, run.stride, out ? there : here,
                                       run.stride, run.length, run.count});
        }
        return first_of(error, queue.wait());
    }

  private:
    const DeviceMemory& memory_;
    Extent hull_;
    std::unique_ptr<std::byte[]> bytes_;
};

class StagedWhole final : public Conversion {
  public:
    StagedWhole(DeviceMemory memory, std::shared_ptr<Conversion> inner)
        : memory_(std::move(memory)), inner_(std::move(inner)) {}

    [[nodiscard]] Bytes file_bytes() const override {
        return inner_ ? inner_->file_bytes() : memory_.layout.size();
    }
    [[nodiscard]] Extent memory_part(Extent file_part) const override {
        return inner_ ? inner_->memory_part(file_part) : file_part;
    }

    Error to_file(const std::byte*, std::span<std::byte> file) override {
        auto queue = memory_.open();
        if (!queue) return queue.error();
        if (inner_) {
            const HostMirror mirror(memory_);
            Error error = mirror.error();
            if (error.kind == ErrorKind::none)
                error = mirror.copy(**queue, Direction::write, {0, memory_.layout.size()});
            return error.kind == ErrorKind::none ? inner_->to_file(mirror.base(), file) : error;
        }
        const StagingBlocks::Lease block = memory_.driver->blocks().take(**queue);
        Cursor cursor(memory_.layout);
        const Error error = gather_from_device(**queue, cursor, memory_.base, file,
                                               block ? block.window() : std::span<std::byte>());
        return first_of(error, (*queue)->wait());
    }

    Error to_memory(std::span<const std::byte> file, Bytes from, std::byte*) override {
        auto queue = memory_.open();
        if (!queue) return queue.error();
        if (!inner_) {
            Cursor cursor(memory_.layout);
            cursor.seek_size(from);
            const Error error = scatter_to_device(**queue, cursor, memory_.base, file);
            return first_of(error, (*queue)->wait());
        }
        const HostMirror mirror(memory_);
        Error error = mirror.error();
        if (error.kind == ErrorKind::none) error = inner_->to_memory(file, from, mirror.base());
        if (error.kind != ErrorKind::none) return error;
        return mirror.copy(**queue, Direction::read,
                           inner_->memory_part({from, from + std::ssize(file)}));
    }

  private:
    DeviceMemory memory_;
    std::shared_ptr<Conversion> inner_;
};

}  // namespace

std::shared_ptr<Conversion> stage_whole(DeviceMemory memory, std::shared_ptr<Conversion> inner) {
    return std::make_shared<StagedWhole>(std::move(memory), std::move(inner));
}

}  // namespace oratorio
