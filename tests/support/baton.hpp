// SPDX-License-Identifier: BSD-3-Clause
// Baton: of N threads exactly one runs, the one that holds the baton. The next holder is drawn from
// a seed. Only the holder uses the data that the threads share, so the data needs no lock.
#pragma once

#include <condition_variable>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/extent.hpp"
#include "support/random.hpp"

namespace oratorio::test {

class Baton {
  public:
    Baton(int ranks, Random& random) : random_(random), live_(ranks), wake_(ranks) {
        std::iota(live_.begin(), live_.end(), 0);
    }
    void begin() { give(choose()); }
    void wait_for(Rank me) {
        std::unique_lock lock(mutex_);
        wake_[me].wait(lock, [&] { return holder_ == me; });
    }
    void pass(Rank me) {
        const Rank next = choose();
        if (next == me) return;
        give(next);
        wait_for(me);
    }
    void leave(Rank me) {
        std::erase(live_, me);
        if (!live_.empty()) give(choose());
    }

  private:
    Rank choose() { return live_[random_.below(live_.size())]; }
    void give(Rank next) {
        std::lock_guard lock(mutex_);
        holder_ = next;
        wake_[next].notify_one();
    }
    Random& random_;
    std::vector<Rank> live_;
    std::vector<std::condition_variable> wake_;
    std::mutex mutex_;
    Rank holder_ = -1;
};

}  // namespace oratorio::test
