// SPDX-License-Identifier: BSD-3-Clause
// Preallocates storage for a file, even if the file system has no call for it.
#pragma once

#include "store/range_lock.hpp"

namespace oratorio {

/// How the allocating handle was opened.
struct Allocator {
    bool readable = true;  ///< the store can be read, even if the program may only write
    /// True if this handle may fill holes, because all other handles take a shared lock when they
    /// write (docs/internals/decisions/holes-and-locks.md).
    bool may_fill = true;
    const JobLocksOfFile* job = nullptr;  ///< null: locks come from the file system
};

/// Gives storage to every byte before `bytes` and makes the file at least that long (MPI 14.2.5).
/// If the store has no call for that, rewrites the existing bytes, each part under a lock of its
/// own, and appends zeros; a handle without read access only appends. Returns
/// unsupported_operation instead if other handles may write without a lock at the same time,
/// because rewriting could lose their bytes.
Result<void> allocate(Store& store, Bytes bytes, const Allocator& allocator);

}  // namespace oratorio
