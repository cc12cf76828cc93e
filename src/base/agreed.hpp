// Agreed<T>: a value that is equal on all ranks of a file. Only collective helpers make one, and
// only Agreed values may steer a collective choice, so a rank-local value can't split the ranks.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/transport.hpp"

namespace oratorio {

template <class T>
class Agreed {
  public:
    [[nodiscard]] const T& value() const { return value_; }
    const T& operator*() const { return value_; }
    const T* operator->() const { return &value_; }

    /// For collective helpers only (they are listed in docs/architecture.md): the caller vouches
    /// that every rank passes an equal value.
    [[nodiscard]] static Agreed vouch(T value) { return Agreed(std::move(value)); }

  private:
    explicit Agreed(T value) : value_(std::move(value)) {}
    T value_;
};

/// Collective. Root's value on all ranks; T must be trivially copyable.
template <class T>
Result<Agreed<T>> agree_on_root(Transport& transport, T mine, Rank root = 0) {
    auto sent = broadcast(transport, root, std::as_writable_bytes(std::span(&mine, 1)));
    if (!sent) return sent.error();
    return Agreed<T>::vouch(mine);
}

/// What the largest of wins a reduction: the worst kind, and among equals the lowest rank. 0 = no
/// error.
[[nodiscard]] std::uint64_t key_of(const Error& error, Rank rank);
/// The rank that a key other than 0 is of.
[[nodiscard]] Rank owner_of(std::uint64_t key);

/// Collective. The worst error any rank noted (ties: the lowest rank), or success on all ranks.
/// Costs one reduction of 8 bytes when nothing failed.
Result<void> agree_on_error(Transport& transport, const Error& mine);

}  // namespace oratorio
