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
    even,    ///< all with the same chance
    uneven,  ///< some are up to a hundred times slower than others, and the slow ones change now
             ///< and then
    bursts,  ///< mostly, one runs until it has to wait
};

/// Keeps stacks for the next program: mapping fresh pages costs more than running one.
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

    // Functions that fibers call.

    /// Lets another fiber run, by chance.
    void maybe();
    /// Lets other fibers run, as this one has nothing to do.
    void idle();
    /// Lets other fibers run until `ready` returns true. `why` is reported if all wait. If all wait
    /// and this one is `sleeping`, it wakes all the same and counts as overslept: nothing ended its
    /// sleep in time.
    void wait(Ready ready, std::string why, bool sleeping = false);
    /// Ends this fiber as if its process died: never returns and destroys nothing on its stack.
    [[noreturn]] void vanish();
    /// Records progress, so that this is no deadlock.
    void moved() { idles_ = 0; }
    /// Ends the run: every fiber gets a Stopped thrown from the call in which it waits.
    void fail(const std::string& text);
    [[nodiscard]] bool stopping() const { return !failure_.empty(); }
    struct Stopped {};

    /// Returns the number of the running fiber, in the order of add().
    [[nodiscard]] int current() const { return current_; }
    [[nodiscard]] test::Random& random() { return random_; }
    /// Returns the number of sleeps that ended only because all fibers slept.
    [[nodiscard]] int overslept() const { return overslept_; }
    [[nodiscard]] long switches() const { return switches_; }
    /// May be set; describes what a fiber is doing, for the report of a deadlock.
    std::function<std::string(int fiber)> describe;

  private:
    /// The place at which a fiber continues.
    struct Place {
        ucontext_t context;
        jmp_buf at;
        bool begun = false;  ///< `at` is set
    };
    struct Fiber {
        Place place;
        std::byte* stack = nullptr;
        std::string name;
        std::function<void()> body;
        Ready ready;  ///< empty: the fiber can run
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
