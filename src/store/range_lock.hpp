// SPDX-License-Identifier: BSD-3-Clause
// RangeLock: a range of the file held against others, for as long as this lives. Whoever holds one
// does storage calls only: no waiting for another rank or for the program, and no second lock. So
// nobody can wait for a lock for ever (docs/decisions/0002-holes-and-locks.md).
#pragma once

#include "store/store.hpp"

namespace oratorio {

class RangeLock {
  public:
    RangeLock() = default;  ///< holds nothing
    /// Waits for whoever holds any of `range`. `exclusive`: alone; else beside others who share.
    [[nodiscard]] static Result<RangeLock> take(Store& store, Extent range, bool exclusive) {
        if (auto locked = store.lock(range, true, exclusive); !locked) return locked.error();
        RangeLock lock;
        lock.store_ = &store;
        lock.range_ = range;
        return lock;
    }
    RangeLock(RangeLock&& other) noexcept { *this = std::move(other); }
    RangeLock& operator=(RangeLock&& other) noexcept {
        std::swap(store_, other.store_);
        std::swap(range_, other.range_);
        return *this;
    }
    ~RangeLock() { (void)give_back(); }

    [[nodiscard]] bool holds() const { return store_ != nullptr; }
    /// Some file systems write what was locked back just here, and may fail.
    Result<void> give_back() {
        Store* const store = std::exchange(store_, nullptr);
        return store != nullptr ? store->lock(range_, false, true) : Result<void>();
    }

  private:
    Store* store_ = nullptr;
    Extent range_;
};

}  // namespace oratorio
