// SPDX-License-Identifier: BSD-3-Clause
// Agreed<T>: a value that is equal on all ranks of a file. Only collective helpers and functions of
// Agreed values make one, and only Agreed values may steer a collective choice, so a rank-local
// value can't split the ranks.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/step.hpp"
#include "comm/node_services.hpp"
#include "comm/transport.hpp"

namespace oratorio {

template <class T>
class Agreed {
  public:
    [[nodiscard]] const T& value() const { return value_; }
    const T& operator*() const { return value_; }
    const std::remove_reference_t<T>* operator->() const { return &value_; }

    /// Declares `value` agreed. Only collective helpers may do so (dev/tidy.py checks it).
    /// REQUIRES: every rank passes an equal value.
    [[nodiscard]] static Agreed vouch(T value) { return Agreed(std::forward<T>(value)); }

  private:
    explicit Agreed(T value) : value_(std::forward<T>(value)) {}
    T value_;
};

/// Returns the agreed result of a function of agreed values. The function captures nothing, so its
/// result can depend on nothing else; without arguments it is a constant.
template <class Pure, class... T>
requires std::is_empty_v<Pure>
[[nodiscard]] auto agreed_from(Pure pure, const Agreed<T>&... values) {
    return Agreed<std::invoke_result_t<Pure, const T&...>>::vouch(pure(*values...));
}

/// Returns the nodes of the transport's ranks. The transport has collected them from all ranks, so
/// they are agreed. The reference is valid while the transport lives.
[[nodiscard]] inline Agreed<const Nodes&> nodes_of(const Transport& transport) {
    return Agreed<const Nodes&>::vouch(transport.topology());
}

/// Collective. Returns root's value on all ranks. REQUIRES: T is trivially copyable.
template <class T>
Result<Agreed<T>> agree_on_root(Transport& transport, T mine, Rank root = 0) {
    auto sent = broadcast(transport, root, std::as_writable_bytes(std::span(&mine, 1)));
    if (!sent) return sent.error();
    return Agreed<T>::vouch(mine);
}

/// A value and its complement. One reduction of both by max shows whether all ranks passed the same
/// value, because the maximum of the complements is the complement of the minimum.
struct AllEqual {
    std::uint64_t value = 0;
    std::uint64_t turned = ~value;
    /// Returns true if all ranks passed the same value. Valid after the reduction.
    [[nodiscard]] bool holds() const { return value == ~turned; }
};

/// Collective. Returns the value that all ranks passed, or not_same on all of them if the values
/// differ.
Result<Agreed<std::uint64_t>> agree_on_equal(Transport& transport, std::uint64_t mine,
                                             std::string_view what_differs);

/// Collective. Returns the sums over all ranks.
template <std::size_t count>
Result<Agreed<std::array<std::uint64_t, count>>> agree_on_sums(
    Transport& transport, std::array<std::uint64_t, count> mine) {
    if (auto summed = reduce(transport, mine, ReduceOp::sum); !summed) return summed.error();
    return Agreed<std::array<std::uint64_t, count>>::vouch(mine);
}

/// Collective, in steps. Gathers one value of every rank, in rank order. REQUIRES: the object does
/// not move until step() has returned Step::done, because the transport holds its address. T is
/// trivially copyable.
template <class T>
class Gathering {
  public:
    Gathering() = default;
    explicit Gathering(const T& mine) : mine_(mine) {}
    Gathering(Gathering&&) noexcept = default;
    Gathering& operator=(Gathering&&) noexcept = default;
    /// Makes a gathering whose result lies in memory once per node, instead of once per rank, if
    /// the transport has such memory. The result is valid until this rank starts the next gathering
    /// of this kind.
    [[nodiscard]] static Gathering once_for_node(const T& mine) {
        Gathering gathering(mine);
        gathering.once_ = true;
        return gathering;
    }

    /// Returns Step::done when all values have arrived. Fails only if the transport fails.
    Result<Step> step(Transport& transport) {
        if (!ticket_.valid()) {
            const auto started =
                transport.gather(std::as_bytes(std::span(&mine_, 1)), room(transport));
            if (!started) return started.error();
            ticket_ = *started;
        }
        const auto completion = transport.test(ticket_);
        if (!completion) return completion.error();
        return done_if(completion->done);
    }
    /// Returns the gathered values. Valid once step() has returned Step::done.
    [[nodiscard]] std::span<const T> all() const { return all_; }
    [[nodiscard]] Agreed<std::span<const T>> agreed() const {
        return Agreed<std::span<const T>>::vouch(all_);
    }

  private:
    std::span<std::byte> room(Transport& transport) {
        const auto ranks = static_cast<std::size_t>(transport.topology().size);
        auto memory = once_ ? list_of_node(transport, ranks * sizeof(T)) : std::span<std::byte>();
        if (memory.empty()) {
            own_.resize(ranks);
            memory = std::as_writable_bytes(std::span(own_));
        }
        all_ = {reinterpret_cast<const T*>(memory.data()), ranks};
        return memory;
    }

    T mine_{};
    bool once_ = false;
    std::vector<T> own_;      ///< the result, if the node has no shared list
    std::span<const T> all_;  ///< lies in `own_` or in the node's shared list
    Ticket ticket_;
};

/// Returns the key of an error for a reduction by max: the largest key is that of the worst kind,
/// and of equal kinds that of the lowest rank. Key 0 means no error.
[[nodiscard]] std::uint64_t key_of(const Error& error, Rank rank);
/// Returns the rank, or the kind, of the error that `key` encodes. REQUIRES: `key` is not 0.
[[nodiscard]] Rank owner_of(std::uint64_t key);
[[nodiscard]] ErrorKind kind_of_key(std::uint64_t key);

/// What a rank can report in place of an error.
enum class Remark : std::uint64_t {
    none = 0,
    more = 1,           ///< this rank has more to do; outweighed by any error
    veto = UINT64_MAX,  ///< nothing failed, but the work must be discarded; outweighs any error
};

/// When a rank entered an access and when its work there was done, in nanoseconds since this rank
/// left the last operation that waited for all ranks. The ranks' clocks needn't agree.
struct AccessTimes {
    std::uint64_t entered = 0;
    std::uint64_t worked = 0;
};

/// Collective, in steps. Ends with the worst error of any rank (of errors of equal kind, the lowest
/// rank's), or with success; the outcome is the same on all ranks. If nothing failed, it costs one
/// reduction: of 8 bytes, of 24 with times, or of 32 with the flag of ask_whether_any().
class Agreement {
  public:
    Agreement() = default;
    explicit Agreement(const Error& mine, Remark remark = Remark::none)
        : error_(mine), remark_(remark) {}
    /// Also agrees on how long the access took. REQUIRES: either all ranks pass times or none does.
    Agreement(const Error& mine, Remark remark, const std::optional<AccessTimes>& times)
        : error_(mine), remark_(remark), sent_(times ? kTimed : 1) {
        if (times) words_ = {0, times->entered, times->worked};
    }
    /// Also agrees on whether the flag is set on any rank. Then the agreement takes one reduction,
    /// even after a failure: it needs nothing more from the rank that failed, and the agreed error
    /// has only a kind and a rank. REQUIRES: called on all ranks or on none, before the first step.
    void ask_whether_any(bool flag) {
        words_[kTimed] = flag ? 1 : 0;
        sent_ = words_.size();
    }

    /// Returns Step::done when the agreement is reached. Fails only if the transport fails.
    /// REQUIRES: the object does not move until the agreement is reached, because the transport
    /// holds its address.
    Result<Step> step(Transport& transport);
    /// Returns true on all ranks if some rank vetoed. Valid once step() has returned Step::done.
    [[nodiscard]] bool vetoed() const { return remark_ == Remark::veto; }
    /// Returns the agreed error. Valid once step() has returned Step::done, if vetoed() is false.
    [[nodiscard]] const Error& error() const { return error_; }
    /// Returns true if no rank failed or vetoed, and some rank has more to do.
    [[nodiscard]] bool goes_on() const { return remark_ == Remark::more; }
    /// Returns true if the flag of ask_whether_any() was set on some rank.
    [[nodiscard]] bool any() const { return words_[kTimed] != 0; }
    /// Returns the nanoseconds from when the last rank entered until the last rank's work was done,
    /// 0 if no times were passed. Equal on all ranks.
    [[nodiscard]] std::uint64_t nanoseconds() const {
        return words_[2] > words_[1] ? words_[2] - words_[1] : 0;
    }

  private:
    enum class Phase { ready, deciding, telling, over };
    Result<Step> start(Result<Ticket> ticket, Phase next, Transport& transport);

    Phase phase_ = Phase::ready;
    Error error_;
    Remark remark_ = Remark::none;
    static constexpr std::size_t kTimed = 3;  ///< words of an agreement on times, before the flag
    std::size_t sent_ = 1;                    ///< words that are reduced
    /// Reduced by max: the key of the error, the times, and the flag.
    std::array<std::uint64_t, kTimed + 1> words_{};
    Ticket ticket_;
};

/// Collective. Runs an Agreement to its end, waiting for the other ranks, and returns the agreed
/// error.
Result<void> agree_on_error(Transport& transport, const Error& mine);

}  // namespace oratorio
