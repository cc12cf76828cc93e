// SPDX-License-Identifier: BSD-3-Clause
// Prefetch: tells the system which bytes of an open file come next, so that it may fetch them
// before they are asked for. Changes no byte.
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

    /// Ranges lie in blocks of so many bytes, each in one; 0: wherever they like.
    [[nodiscard]] virtual Bytes block() const = 0;
    /// `released` were accessed and are done with, `wanted` come soon, in this direction. Gives how
    /// many of these, from the first on, the system will see to; those are released later.
    virtual std::size_t move_on(std::span<const Extent> released, std::span<const Extent> wanted,
                                Direction direction) = 0;
};

/// By the page cache (posix_fadvise). What was accessed stays there: other ranks may want it, too
/// (docs/decisions/0022-read-ahead.md). The descriptor stays the caller's.
std::unique_ptr<Prefetch> make_page_cache_prefetch(int descriptor);

/// gpfs_fcntl(3) of libgpfs.
using GpfsCall = int (*)(int descriptor, void* argument);
/// By the multiple access range hint of GPFS; `block`: of the file system.
std::unique_ptr<Prefetch> make_gpfs_prefetch(int descriptor, Bytes block, GpfsCall call);

/// A library loaded while the program runs.
class GpfsLibrary {
  public:
    explicit GpfsLibrary(const char* name);
    ~GpfsLibrary();
    GpfsLibrary(const GpfsLibrary&) = delete;
    GpfsLibrary& operator=(const GpfsLibrary&) = delete;
    /// Null where it isn't there.
    [[nodiscard]] GpfsCall call() const { return call_; }

  private:
    void* handle_;
    GpfsCall call_ = nullptr;
};

/// The one for a file system (f_type).
std::unique_ptr<Prefetch> make_prefetch(int descriptor, long file_system, Bytes block);

}  // namespace oratorio
