// SPDX-License-Identifier: BSD-3-Clause
// HookState: whether a host has a function of ours to call while it waits, and how it gives that
// back. Any thread may be in any of its functions.
#pragma once

#include <atomic>

namespace oratorio::bind {

/// Moves something on; false when there is nothing left that would need to be called for.
using HookFunction = bool (*)();

class HookState {
  public:
    /// Has the host call `function`, if it doesn't yet. `start` makes it call called() again and
    /// again until that is false; false when it can't.
    bool install(HookFunction function, bool (*start)()) {
        if (function_.exchange(function) != nullptr) return true;
        ++started_;
        if (start()) return true;
        function_ = nullptr;
        --started_;
        return false;
    }

    /// By the host. False: never again, until it is installed anew.
    bool called() {
        const HookFunction function = function_.load();
        if (function != nullptr) {
            if (function()) return true;
            function_ = nullptr;
            // Who came with work meanwhile was told that the host has the function.
            if (function() && function_.exchange(function) == nullptr) return true;
        }
        --started_;
        return false;
    }

    [[nodiscard]] bool wanted() const { return function_.load() != nullptr; }

    /// The host has nothing of ours afterwards. `progress` makes it call what it has to.
    void withdraw(void (*progress)()) {
        constexpr int kTries = 100;  // others may be inside
        function_ = nullptr;
        for (int i = 0; i < kTries && started_ > 0; ++i) progress();
    }

  private:
    std::atomic<HookFunction> function_{nullptr};
    std::atomic<int> started_{0};  ///< and not ended by called()
};

}  // namespace oratorio::bind
