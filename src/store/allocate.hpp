// SPDX-License-Identifier: BSD-3-Clause
// Storage for a file where the file system can't give it by itself.
#pragma once

#include "store/range_lock.hpp"

namespace oratorio {

/// How the file was opened by who allocates.
struct Allocator {
    bool readable = true;
    /// This handle may fill holes: all others share-lock what they write
    /// (docs/decisions/0002-holes-and-locks.md).
    bool may_fill = true;
    const JobLocksOfFile* job = nullptr;  ///< where its locks come from; null: the file system
};

/// Gives storage to every byte before `bytes` and makes the file at least as long (MPI 14.2.5):
/// by the store, or by writing what is there once more, each part under a lock of its own. Refused
/// where others may write without a lock meanwhile: their bytes would be lost.
Result<void> allocate(Store& store, Bytes bytes, const Allocator& allocator);

}  // namespace oratorio
