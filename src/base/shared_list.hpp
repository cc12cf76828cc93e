// SPDX-License-Identifier: BSD-3-Clause
// SharedList: a list that doesn't change any more. Copies share it, so they cost the same however
// long it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace oratorio {

template <class Value>
class SharedList {
  public:
    SharedList() = default;
    SharedList(const std::vector<Value>& values)
        : values_(std::make_shared<Value[]>(values.size())), size_(values.size()) {
        std::ranges::copy(values, values_.get());
    }
    SharedList(std::initializer_list<Value> values) : SharedList(std::vector<Value>(values)) {}
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] const Value* begin() const { return values_.get(); }
    [[nodiscard]] const Value* end() const { return begin() + size_; }
    [[nodiscard]] const Value& operator[](std::size_t i) const { return begin()[i]; }
    [[nodiscard]] const Value& front() const { return begin()[0]; }
    bool operator==(const SharedList& other) const { return std::ranges::equal(*this, other); }

  private:
    std::shared_ptr<Value[]> values_;
    std::size_t size_ = 0;
};

}  // namespace oratorio
