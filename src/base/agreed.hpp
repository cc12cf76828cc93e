// SPDX-License-Identifier: BSD-3-Clause
// Agreed<T>: a value that is equal on all ranks of a file. Only collective helpers make one, and
// only Agreed values may steer a collective choice, so a rank-local value can't split the ranks.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/transport.hpp"

namespace oratorio {

template <class T>
class Agreed {
  public:
    [[nodiscard]] const T& value() const { return value_; }
    const T& operator*() const { return value_; }
    const std::remove_reference_t<T>* operator->() const { return &value_; }

    /// For collective helpers only (the lint knows them): the caller vouches that every rank passes
    /// an equal value.
    [[nodiscard]] static Agreed vouch(T value) { return Agreed(std::forward<T>(value)); }

  private:
    explicit Agreed(T value) : value_(std::forward<T>(value)) {}
    T value_;
};

/// What a function makes of agreed values, and of nothing else, is agreed; of no values, a
/// constant.
template <class Pure, class... T>
requires std::is_empty_v<Pure>
[[nodiscard]] auto agreed_from(Pure pure, const Agreed<T>&... values) {
    return Agreed<std::invoke_result_t<Pure, const T&...>>::vouch(pure(*values...));
}

/// Those of the transport, which has them from all its ranks; no longer than it lives.
[[nodiscard]] inline Agreed<const Nodes&> nodes_of(const Transport& transport) {
    return Agreed<const Nodes&>::vouch(transport.topology());
}

/// Collective. Root's value on all ranks; T must be trivially copyable.
template <class T>
Result<Agreed<T>> agree_on_root(Transport& transport, T mine, Rank root = 0) {
    auto sent = broadcast(transport, root, std::as_writable_bytes(std::span(&mine, 1)));
    if (!sent) return sent.error();
    return Agreed<T>::vouch(mine);
}

/// A value as a reduction by max takes it, to tell whether all ranks have brought the same: the
/// largest, and turned round, the smallest.
struct AllEqual {
    std::uint64_t value = 0;
    std::uint64_t turned = ~value;
    /// After the reduction.
    [[nodiscard]] bool holds() const { return value == ~turned; }
};

/// Collective. The value that all ranks have brought; not_same on all of them where they differ.
Result<Agreed<std::uint64_t>> agree_on_equal(Transport& transport, std::uint64_t mine,
                                             std::string_view what_differs);

/// Collective. The sums over all ranks.
template <std::size_t count>
Result<Agreed<std::array<std::uint64_t, count>>> agree_on_sums(
    Transport& transport, std::array<std::uint64_t, count> mine) {
    if (auto summed = reduce(transport, mine, ReduceOp::sum); !summed) return summed.error();
    return Agreed<std::array<std::uint64_t, count>>::vouch(mine);
}

/// Collective, in steps: what every rank has brought, in rank order. Stays where it is meanwhile:
/// the transport knows its address. T must be trivially copyable.
template <class T>
class Gathering {
  public:
    Gathering() = default;
    explicit Gathering(const T& mine) : mine_(mine) {}
    Gathering(Gathering&&) noexcept = default;
    Gathering& operator=(Gathering&&) noexcept = default;
    /// What comes of it lies once for a node, where the transport has memory for that, and until
    /// this rank starts the next such gathering.
    [[nodiscard]] static Gathering once_for_node(const T& mine) {
        Gathering gathering(mine);
        gathering.once_ = true;
        return gathering;
    }

    /// True when all are there; an error is the transport's.
    Result<bool> step(Transport& transport) {
        if (!ticket_.valid()) {
            const auto started =
                transport.gather(std::as_bytes(std::span(&mine_, 1)), room(transport));
            if (!started) return started.error();
            ticket_ = *started;
        }
        const auto completion = transport.test(ticket_);
        if (!completion) return completion.error();
        return completion->done;
    }
    /// When they are.
    [[nodiscard]] std::span<const T> all() const { return all_; }
    [[nodiscard]] Agreed<std::span<const T>> agreed() const {
        return Agreed<std::span<const T>>::vouch(all_);
    }

  private:
    std::span<std::byte> room(Transport& transport) {
        const auto ranks = static_cast<std::size_t>(transport.topology().size);
        auto memory = once_ ? transport.list_of_node(ranks * sizeof(T)) : std::span<std::byte>();
        if (memory.empty()) {
            own_.resize(ranks);
            memory = std::as_writable_bytes(std::span(own_));
        }
        all_ = {reinterpret_cast<const T*>(memory.data()), ranks};
        return memory;
    }

    T mine_{};
    bool once_ = false;
    std::vector<T> own_;      ///< where there is no list of the node
    std::span<const T> all_;  ///< in that, or in this
    Ticket ticket_;
};

/// What the largest of wins a reduction: the worst kind, and among equals the lowest rank. 0 = no
/// error.
[[nodiscard]] std::uint64_t key_of(const Error& error, Rank rank);
/// The rank and the kind of the error that a key other than 0 is of.
[[nodiscard]] Rank owner_of(std::uint64_t key);
[[nodiscard]] ErrorKind kind_of_key(std::uint64_t key);

/// What a rank may have to say beside its error.
enum class Remark : std::uint64_t {
    none = 0,
    more = 1,  ///< there is more to do; counts where nothing failed
    veto =
        UINT64_MAX,  ///< something else than an error makes all that was done void; wins over all
};

/// Collective, in steps: the worst error any rank noted (ties: the lowest rank), or success on all
/// ranks. Costs one reduction of 8 bytes when nothing failed.
class Agreement {
  public:
    Agreement() = default;
    explicit Agreement(const Error& mine, Remark remark = Remark::none)
        : error_(mine), remark_(remark) {}

    /// True when it is over; an error is the transport's. Stays where it is until then: the
    /// transport knows its address.
    Result<bool> step(Transport& transport);
    /// When it is over, the same on all ranks: some rank vetoed.
    [[nodiscard]] bool vetoed() const { return remark_ == Remark::veto; }
    /// Where nobody did.
    [[nodiscard]] const Error& error() const { return error_; }
    /// Nobody failed or vetoed, and some rank has more to do.
    [[nodiscard]] bool goes_on() const { return remark_ == Remark::more; }

  private:
    enum class Phase { ready, deciding, telling, over };
    Result<bool> start(Result<Ticket> ticket, Phase next, Transport& transport);

    Phase phase_ = Phase::ready;
    Error error_;
    Remark remark_ = Remark::none;
    std::uint64_t key_ = 0;
    Ticket ticket_;
};

/// The same, waiting for it.
Result<void> agree_on_error(Transport& transport, const Error& mine);

}  // namespace oratorio
