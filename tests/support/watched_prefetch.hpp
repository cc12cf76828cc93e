// SPDX-License-Identifier: BSD-3-Clause
// WatchedPrefetch: a Prefetch for tests that accepts the first ranges of each request, a fixed or a
// random number of them, and records every range that it accepts and every range that is released.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "store/prefetch.hpp"
#include "support/random.hpp"

namespace oratorio::test {

class WatchedPrefetch final : public Prefetch {
  public:
    /// Makes a Prefetch that, with `seed` 0, accepts the first `most` ranges of each request, and
    /// with any other seed a random number of them.
    explicit WatchedPrefetch(std::uint64_t seed = 0, std::size_t most = 1000, Bytes block = 0)
        : seed_(seed), most_(most), block_(block), random_(seed) {}

    [[nodiscard]] Bytes block() const override { return block_; }
    std::size_t move_on(std::span<const Extent> released, std::span<const Extent> wanted,
                        Direction direction) override {
        for (const Extent& range : released) {
            const auto found = std::ranges::find(outstanding, range);
            strangers += found == outstanding.end() ? 1 : 0;
            if (found != outstanding.end()) outstanding.erase(found);
            note("release", range);
        }
        const std::size_t most = seed_ == 0 ? most_ : random_.below(wanted.size() + 1);
        const std::size_t taken = std::min(most, wanted.size());
        for (std::size_t i = 0; i < taken; ++i) {
            outstanding.push_back(wanted[i]);
            note(direction == Direction::read ? "want" : "want to write", wanted[i]);
        }
        most_outstanding = std::max(most_outstanding, outstanding.size());
        return taken;
    }
    void note(const std::string& what, Extent range) {
        told.push_back(what + " " + std::to_string(range.begin) + "-" + std::to_string(range.end));
    }

    std::vector<Extent> outstanding;
    std::size_t most_outstanding = 0;
    int strangers = 0;  ///< number of ranges released that had not been accepted
    std::vector<std::string> told;

  private:
    std::uint64_t seed_;
    std::size_t most_;
    Bytes block_;
    Random random_;
};

}  // namespace oratorio::test
