// SPDX-License-Identifier: BSD-3-Clause
// List: numbers in one block of memory, which may come from a BlockCache and return to it. Copies
// share the memory, so only the code that has just made a list may write to it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "memory/block_cache.hpp"

namespace oratorio {

template <class T>
class List {
  public:
    List() = default;
    /// Makes a list with undefined contents. `from` may be null.
    explicit List(std::size_t size, const std::shared_ptr<BlockCache>& from = nullptr)
        : memory_(BlockCache::take(size * sizeof(T), from)),
          values_(static_cast<T*>(memory_.get()), size) {}
    List(std::initializer_list<T> values) : List(values.size()) {
        std::copy(values.begin(), values.end(), begin());
    }
    /// Makes a list from the vector's own memory.
    List(std::vector<T> values) {
        const auto kept = std::make_shared<std::vector<T>>(std::move(values));
        values_ = *kept;
        memory_ = kept;
    }

    [[nodiscard]] std::size_t size() const { return values_.size(); }
    [[nodiscard]] bool empty() const { return values_.empty(); }
    [[nodiscard]] T* data() { return values_.data(); }
    [[nodiscard]] const T* data() const { return values_.data(); }
    [[nodiscard]] T* begin() { return data(); }
    [[nodiscard]] T* end() { return data() + size(); }
    [[nodiscard]] const T* begin() const { return data(); }
    [[nodiscard]] const T* end() const { return data() + size(); }
    [[nodiscard]] T& operator[](std::size_t at) { return values_[at]; }
    [[nodiscard]] const T& operator[](std::size_t at) const { return values_[at]; }
    [[nodiscard]] T& front() { return values_.front(); }
    [[nodiscard]] T& back() { return values_.back(); }

    /// Drops the values from `size` on. If less than half of the values remain, moves them to
    /// smaller memory.
    void shorten(std::size_t size) {
        if (size < values_.size() / 2)
            *this = first(size);
        else
            values_ = values_.first(size);
    }
    /// Returns a copy of the first `size` values, in memory of its own.
    [[nodiscard]] List first(std::size_t size) const {
        List copy(size);
        std::copy_n(begin(), size, copy.begin());
        return copy;
    }

  private:
    std::shared_ptr<void> memory_;
    std::span<T> values_;
};

}  // namespace oratorio
