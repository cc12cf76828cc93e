// SPDX-License-Identifier: BSD-3-Clause
// Fibers: threads of control of which exactly one runs, switched only where they say so, in an
// order drawn from a seed. A switch costs less than a microsecond, a whole program of the oracle a
// few milliseconds.
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

/// How the next one is chosen.
enum class Pace {
    even,    ///< all alike
    uneven,  ///< some are up to a hundred times slower than others, and that changes now and then
    bursts,  ///< one runs until it has to wait, mostly
};

/// Stacks go from program to program: fresh pages cost more than running one.
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

    /// Before run().
    void add(std::string name, std::function<void()> body);
    /// Until all have ended. What went wrong, "" if nothing did.
    std::string run();

    // Called by fibers.

    /// Another may run now.
    void maybe();
    /// Nothing to be done here just now: others run.
    void idle();
    /// Others run until `ready` says so. `why` is told when all wait. Where all wait and this one
    /// is `sleeping`, it is woken all the same: a sleep that nothing ends in time.
    void wait(Ready ready, std::string why, bool sleeping = false);
    /// Never returns, and nothing on the stack of this one is destroyed: it has died.
    [[noreturn]] void vanish();
    /// Something got further, so this is no standstill.
    void moved() { idles_ = 0; }
    /// Ends the run: every fiber gets a Stopped thrown from wherever it waits.
    void fail(const std::string& text);
    [[nodiscard]] bool stopping() const { return !failure_.empty(); }
    struct Stopped {};

    /// The number of the one that runs, in the order of add().
    [[nodiscard]] int current() const { return current_; }
    [[nodiscard]] test::Random& random() { return random_; }
    /// Sleeps that ended only because all slept.
    [[nodiscard]] int overslept() const { return overslept_; }
    [[nodiscard]] long switches() const { return switches_; }
    /// May be set; says what a fiber is doing when all wait.
    std::function<std::string(int fiber)> describe;

  private:
    /// Where to go on.
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
        Ready ready;  ///< empty: can run
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
    stack_t outside_stack_ = {};  ///< told to the address sanitizer
    void* outside_sanitizer_ = nullptr;
    int current_ = -1;
    std::string failure_;
    long idles_ = 0;
    long switches_ = 0;
    int overslept_ = 0;
};

}  // namespace oratorio::oracle
