// SPDX-License-Identifier: BSD-3-Clause
// Prefetch: announces to the system which bytes of an open file come next, so that it may fetch
// them in advance (read-ahead). Changes no byte.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/direction.hpp"
#include "base/extent.hpp"

namespace oratorio {

class Prefetch {
  public:
    virtual ~Prefetch() = default;
    Prefetch() = default;
    Prefetch(const Prefetch&) = delete;
    Prefetch& operator=(const Prefetch&) = delete;

    /// Returns the block size; no range may cross a block boundary. 0: ranges are unrestricted.
    [[nodiscard]] virtual Bytes block() const = 0;
    /// Announces that the access is finished with the `released` ranges and will soon need the
    /// `wanted` ranges; `direction` is that of the access. Returns the number of leading `wanted`
    /// ranges that the system accepted; the caller releases these ranges later.
    virtual std::size_t move_on(std::span<const Extent> released, std::span<const Extent> wanted,
                                Direction direction) = 0;
};

/// Makes a prefetch into the page cache (posix_fadvise). Released ranges stay there, because other
/// ranks may need them (docs/internals/decisions/stores.md). The caller owns the descriptor.
std::unique_ptr<Prefetch> make_page_cache_prefetch(int descriptor);

/// The type of gpfs_fcntl(3) in libgpfs.
using GpfsCall = int (*)(int descriptor, void* argument);
/// Makes a prefetch that uses the multiple access range hint of GPFS. `block` is the file system's
/// block size.
std::unique_ptr<Prefetch> make_gpfs_prefetch(int descriptor, Bytes block, GpfsCall call);

/// The library of GPFS, loaded at run time.
class GpfsLibrary {
  public:
    explicit GpfsLibrary(const char* name);
    ~GpfsLibrary();
    GpfsLibrary(const GpfsLibrary&) = delete;
    GpfsLibrary& operator=(const GpfsLibrary&) = delete;
    /// Returns gpfs_fcntl; null if the library or the function isn't available.
    [[nodiscard]] GpfsCall call() const { return call_; }

  private:
    void* handle_;
    GpfsCall call_ = nullptr;
};

/// Makes the prefetch that suits a file system (f_type); null where a prefetch may cache old data.
std::unique_ptr<Prefetch> make_prefetch(int descriptor, long file_system, Bytes block);

}  // namespace oratorio
