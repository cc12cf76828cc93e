// SPDX-License-Identifier: BSD-3-Clause
// SharedList: an immutable list. Copies share the values, so a copy costs the same for any length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace oratorio {

template <class Value>
class SharedList {
  public:
    SharedList() = default;
    SharedList(std::vector<Value> values)
        : values_(std::make_shared<const std::vector<Value>>(std::move(values))) {}
    SharedList(std::initializer_list<Value> values) : SharedList(std::vector<Value>(values)) {}
    [[nodiscard]] std::size_t size() const { return values_ == nullptr ? 0 : values_->size(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] const Value* begin() const { return empty() ? nullptr : values_->data(); }
    [[nodiscard]] const Value* end() const { return begin() + size(); }
    [[nodiscard]] const Value& operator[](std::size_t i) const { return (*values_)[i]; }
    [[nodiscard]] const Value& front() const { return values_->front(); }
    bool operator==(const SharedList& other) const { return std::ranges::equal(*this, other); }

  private:
    std::shared_ptr<const std::vector<Value>> values_;
};

}  // namespace oratorio
