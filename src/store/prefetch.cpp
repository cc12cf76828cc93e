// SPDX-License-Identifier: BSD-3-Clause
#include "store/prefetch.hpp"

#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "store/file_system_types.hpp"

namespace oratorio {

namespace {

constexpr long kGpfsMagic = 0x47504653;

class PageCachePrefetch final : public Prefetch {
  public:
    explicit PageCachePrefetch(int descriptor) : descriptor_(descriptor) {}
    [[nodiscard]] Bytes block() const override { return 0; }
    std::size_t move_on(std::span<const Extent>, std::span<const Extent> wanted,
                        Direction) override {
        const auto refused = std::ranges::find_if(wanted, [&](const Extent& range) {
            return ::posix_fadvise(descriptor_, range.begin, range.length(), POSIX_FADV_WILLNEED) !=
                   0;
        });
        return static_cast<std::size_t>(refused - wanted.begin());
    }

  private:
    int descriptor_;
};

// Structures of gpfs_fcntl(3). Each is a multiple of 8 bytes, so that there is no padding between
// them.
constexpr std::size_t kRangesMost = 8;
struct GpfsRange {
    long long block = 0;
    int start = 0;  ///< within the block
    int length = 0;
    int is_write = 0;
    char unused[4] = {};
};
struct GpfsMultipleAccessRange {
    int total_length = sizeof(GpfsMultipleAccessRange);
    int version = 1;
    int error_offset = 0;
    int reserved = 0;
    int length = sizeof(GpfsMultipleAccessRange) - 4 * sizeof(int);
    int type = 1003;
    int wanted_count = 0;  ///< number of wanted ranges that were accepted, on return
    int released_count = 0;
    std::array<GpfsRange, kRangesMost> wanted;
    std::array<GpfsRange, kRangesMost> released;
};
static_assert(sizeof(GpfsRange) == 24);
static_assert(sizeof(GpfsMultipleAccessRange) == 32 + 2 * kRangesMost * sizeof(GpfsRange));

class GpfsPrefetch final : public Prefetch {
  public:
    GpfsPrefetch(int descriptor, Bytes block, GpfsCall call)
        : descriptor_(descriptor), block_(block), call_(call) {}
    [[nodiscard]] Bytes block() const override { return block_; }

    /// Sends as many hints as needed; each holds up to kRangesMost ranges of each kind.
    std::size_t move_on(std::span<const Extent> released, std::span<const Extent> wanted,
                        Direction direction) override {
        std::size_t taken = 0;
        bool asks = true;
        while (!released.empty() || (asks && taken < wanted.size())) {
            const auto now = asks ? wanted.subspan(taken) : std::span<const Extent>();
            GpfsMultipleAccessRange hint;
            hint.released_count = put(released, hint.released, direction);
            hint.wanted_count = put(now, hint.wanted, direction);
            const int wanted_now = hint.wanted_count;
            released = released.subspan(static_cast<std::size_t>(hint.released_count));
            const bool done = call_(descriptor_, &hint) == 0;
            const int taken_now = done ? std::clamp(hint.wanted_count, 0, wanted_now) : 0;
            taken += static_cast<std::size_t>(taken_now);
            asks = asks && taken_now == wanted_now;
        }
        return taken;
    }

  private:
    int put(std::span<const Extent> ranges, std::array<GpfsRange, kRangesMost>& into,
            Direction direction) const {
        const std::size_t count = std::min(ranges.size(), kRangesMost);
        for (std::size_t i = 0; i < count; ++i) {
            into[i].block = ranges[i].begin / block_;
            into[i].start = static_cast<int>(ranges[i].begin % block_);
            into[i].length = static_cast<int>(ranges[i].length());
            into[i].is_write = direction == Direction::write ? 1 : 0;
        }
        return static_cast<int>(count);
    }

    int descriptor_;
    Bytes block_;
    GpfsCall call_;
};

/// A GPFS prefetch together with the library that it needs.
class LoadedGpfsPrefetch final : public Prefetch {
  public:
    LoadedGpfsPrefetch(std::unique_ptr<GpfsLibrary> library, int descriptor, Bytes block)
        : library_(std::move(library)),
          prefetch_(make_gpfs_prefetch(descriptor, block, library_->call())) {}
    [[nodiscard]] Bytes block() const override { return prefetch_->block(); }
    std::size_t move_on(std::span<const Extent> released, std::span<const Extent> wanted,
                        Direction direction) override {
        return prefetch_->move_on(released, wanted, direction);
    }

  private:
    std::unique_ptr<GpfsLibrary> library_;
    std::unique_ptr<Prefetch> prefetch_;
};

}  // namespace

GpfsLibrary::GpfsLibrary(const char* name) : handle_(::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
    if (handle_ != nullptr) call_ = reinterpret_cast<GpfsCall>(::dlsym(handle_, "gpfs_fcntl"));
}

GpfsLibrary::~GpfsLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
}

std::unique_ptr<Prefetch> make_page_cache_prefetch(int descriptor) {
    return std::make_unique<PageCachePrefetch>(descriptor);
}

std::unique_ptr<Prefetch> make_gpfs_prefetch(int descriptor, Bytes block, GpfsCall call) {
    return std::make_unique<GpfsPrefetch>(descriptor, block, call);
}

std::unique_ptr<Prefetch> make_prefetch(int descriptor, long file_system, Bytes block) {
    if (reads_ahead_without_lock(file_system)) return nullptr;
    if (file_system == kGpfsMagic && block > 0) {
        auto library = std::make_unique<GpfsLibrary>("libgpfs.so");
        if (library->call() != nullptr)
            return std::make_unique<LoadedGpfsPrefetch>(std::move(library), descriptor, block);
    }
    return make_page_cache_prefetch(descriptor);
}

}  // namespace oratorio
