// SPDX-License-Identifier: BSD-3-Clause
// HookState: makes the host call a function of Oratorio while the host waits, and withdraws that
// function. Thread-safe.
#pragma once

#include <atomic>

namespace oratorio::bind {

/// Steps operations. Returns false if no operation needs another call of the function.
using HookFunction = bool (*)();

class HookState {
  public:
    /// Makes the host call `function`, unless it does so already. `start` makes the host call
    /// called() repeatedly until that returns false. Returns false if the host can't.
    bool install(HookFunction function, bool (*start)()) {
        if (function_.exchange(function) != nullptr) return true;
        ++started_;
        if (start()) return true;
        function_ = nullptr;
        --started_;
        return false;
    }

    /// Called by the host; calls the function. Returns false if the host must stop calling until
    /// the function is installed again.
    bool called() {
        const HookFunction function = function_.load();
        if (function != nullptr) {
            if (function()) return true;
            function_ = nullptr;
            // A thread may have added work in between and found the function installed.
            if (function() && function_.exchange(function) == nullptr) return true;
        }
        --started_;
        return false;
    }

    [[nodiscard]] bool wanted() const { return function_.load() != nullptr; }

    /// Withdraws the function from the host. `progress` makes the host call called(), which then
    /// returns false.
    void withdraw(void (*progress)()) {
        constexpr int kTries = 100;  // another thread may be in called()
        function_ = nullptr;
        for (int i = 0; i < kTries && started_ > 0; ++i) progress();
    }

  private:
    /// Memory order: sequentially consistent. A thread adds its work before it exchanges the
    /// function in install(), and called() looks for work once more after it has cleared the
    /// function. So one of the two sees the other, and no work is left without a function.
    std::atomic<HookFunction> function_{nullptr};
    std::atomic<int> started_{0};  ///< number of starts that called() has not ended yet
};

}  // namespace oratorio::bind
