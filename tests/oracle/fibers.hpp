// SPDX-License-Identifier: BSD-3-Clause
// Fibers: threads of control of which exactly one runs. They switch only where they call for it, in
// an order drawn from a seed. A switch takes less than a microsecond, a whole program of the oracle
// a few milliseconds.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace oratorio::oracle {

/// How the next fiber is chosen.
enum class Pace {
    even,  ///< all fibers have the same chance
    /// Some fibers are up to 128 times slower than others, and the slow ones change over time.
    uneven,
    bursts,  ///< one fiber usually runs until it has to wait
};

/// Keeps the fibers' stacks for the next program, because mapping fresh pages costs more than
/// running a program.
class Stacks {
  public:
    static constexpr std::size_t bytes = 256 << 10;
    ~Stacks();
    std::byte* take();
    void give_back(std::byte* stack) { free_.push_back(stack); }

  private:
    std::vector<std::byte*> free_;
};

class Fibers {
  public:
    using Ready = std::function<bool()>;

    Fibers(Stacks& stacks, std::uint64_t seed, Pace pace, int switch_percent);
    ~Fibers();
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    /// Adds a fiber. REQUIRES: run() has not been called.
    void add(std::string name, std::function<void()> body);
    /// Runs all fibers to their end. Returns an explanation of a failure, or "".
    std::string run();

    // Functions that only fibers call: maybe() to fail().

    /// Lets another fiber run, by chance.
    void maybe();
    /// Lets another fiber run because this one has nothing to do.
    void idle();
    /// Lets other fibers run until `ready` returns true. `why` is reported if all fibers wait. A
    /// `sleeping` fiber wakes all the same when no fiber makes progress; that counts as overslept,
    /// because nothing ended its sleep in time.
    void wait(Ready ready, std::string why, bool sleeping = false);
    /// Ends this fiber as if its process died: never returns and destroys nothing on its stack.
    [[noreturn]] void vanish();
    /// Records progress. A deadlock is reported after too many idle calls without progress.
    void moved() { idles_ = 0; }
    /// Ends the run. In every fiber, the call that waits throws Stopped.
    void fail(const std::string& text);
    [[nodiscard]] bool stopping() const { return !failure_.empty(); }
    struct Stopped {};

    /// Returns the number of the running fiber, in the order of add().
    [[nodiscard]] int current() const { return current_; }
    [[nodiscard]] test::Random& random() { return random_; }
    /// Returns the number of sleeps that ended only because no fiber made progress.
    [[nodiscard]] int overslept() const { return overslept_; }
    [[nodiscard]] long switches() const { return switches_; }
    /// Describes what a fiber is doing, for the report of a deadlock. It may be left empty.
    std::function<std::string(int fiber)> describe;

  private:
    /// The place at which a fiber continues.
    struct Place {
        ucontext_t context;
        jmp_buf at;
        bool begun = false;  ///< `at` has been set, by a switch away from the fiber
    };
    struct Fiber {
        Place place;
        std::byte* stack = nullptr;
        std::string name;
        std::function<void()> body;
        Ready ready;  ///< condition that the fiber waits for; empty if it can run
        std::string why;
        bool sleeping = false;
        bool ended = false;
        int weight = 1;
        void* sanitizer = nullptr;
    };
    static void enter(unsigned high, unsigned low);
    static void change(Place& from, Place& to);
    void live();
    void check();
    [[nodiscard]] bool somebody_was_rung() const;
    int choose(bool others_only);
    void draw_weights();
    [[nodiscard]] std::string who_waits() const;
    void switch_to(int next);
    void pass(bool others_only);

    Stacks& stacks_;
    test::Random random_;
    Pace pace_;
    int switch_percent_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    Place outside_;
    stack_t outside_stack_ = {};  ///< the stack of run(), for the address sanitizer
    void* outside_sanitizer_ = nullptr;
    int current_ = -1;
    std::string failure_;
    long idles_ = 0;
    long switches_ = 0;
    int overslept_ = 0;
};

}  // namespace oratorio::oracle
