// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/fibers.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "oracle/scarcity.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace oratorio::oracle {

namespace {

constexpr long kIdlesMax = 20'000;  // idle calls without progress that count as a deadlock
// Idle calls without progress after which fibers that sleep at a doorbell wake by themselves.
constexpr long kSleep = 1000;
constexpr long kOversleep = 10;  // number of idle calls that one overslept sleep counts as
// Maximum number of switches between fibers in one test program. A program that accesses the file
// one byte at a time takes about a million.
constexpr long kSwitchesMax = 10'000'000;
constexpr std::size_t kGuard = 4096;

/// Tells the address sanitizer, if it is in use, that the stack has no frames. A fiber that ended
/// as if its process had died has left the marks of its frames there, and the next frames at the
/// same place mark only the bytes around their variables.
void forget_frames(std::byte* stack) {
    ASAN_UNPOISON_MEMORY_REGION(stack + kGuard, Stacks::bytes - kGuard);
}

}  // namespace

Stacks::~Stacks() {
    for (std::byte* stack : free_) {
        forget_frames(stack);
        munmap(stack, bytes);
    }
}

std::byte* Stacks::take() {
    if (!free_.empty()) {
        std::byte* const stack = free_.back();
        free_.pop_back();
        forget_frames(stack);
        return stack;
    }
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::terminate();
    mprotect(memory, kGuard, PROT_NONE);
    return static_cast<std::byte*>(memory);
}

Fibers::Fibers(Stacks& stacks, std::uint64_t seed, Pace pace, int switch_percent)
    : stacks_(stacks), random_(seed), pace_(pace), switch_percent_(switch_percent) {}

Fibers::~Fibers() {
    for (const auto& fiber : fibers_) {
        stacks_.give_back(fiber->stack);
#if defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(fiber->sanitizer);
#endif
    }
}

void Fibers::add(std::string name, std::function<void()> body) {
    auto fiber = std::make_unique<Fiber>();
    fiber->name = std::move(name);
    fiber->body = std::move(body);
    fiber->stack = stacks_.take();
    ucontext_t& context = fiber->place.context;
    getcontext(&context);
    context.uc_stack = {fiber->stack + kGuard, 0, Stacks::bytes - kGuard};
    context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
#if defined(__SANITIZE_THREAD__)
    fiber->sanitizer = __tsan_create_fiber(0);
#endif
    fibers_.push_back(std::move(fiber));
}

void Fibers::enter(unsigned high, unsigned low) {
    const auto self = static_cast<std::uintptr_t>(high) << 32 | low;
    reinterpret_cast<Fibers*>(self)->live();
}

/// Switches from one fiber to another; returns when a fiber switches back to `from`. swapcontext()
/// makes a system call each time to keep the signal mask, so fibers switch by longjmp once they
/// run, and only enter their stack by setcontext(). Sanitizers support only swapcontext().
void Fibers::change(Place& from, Place& to) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    swapcontext(&from.context, &to.context);
#else
    from.begun = true;
    if (_setjmp(from.at) != 0) return;
    if (to.begun) _longjmp(to.at, 1);
    setcontext(&to.context);
#endif
}

void Fibers::live() {
#if defined(__SANITIZE_ADDRESS__)
    // Only the first fiber is entered from the stack of run(), so its call reports where that stack
    // is.
    const bool first = outside_stack_.ss_sp == nullptr;
    const void* bottom = nullptr;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, first ? &outside_stack_.ss_size : nullptr);
    if (first) outside_stack_.ss_sp = const_cast<void*>(bottom);
#endif
    Fiber& me = *fibers_[static_cast<std::size_t>(current_)];
    try {
        if (!stopping()) me.body();
    } catch (const Stopped&) {
    } catch (const std::exception& exception) {
        if (failure_.empty()) failure_ = "exception: " + me.name + " threw " + exception.what();
    }
    me.ended = true;
    moved();
    switch_to(choose(true));
}

std::string Fibers::run() {
    draw_weights();
    const int first = choose(false);
    current_ = first;
#if defined(__SANITIZE_ADDRESS__)
    const ucontext_t& context = fibers_[static_cast<std::size_t>(first)]->place.context;
    __sanitizer_start_switch_fiber(&outside_sanitizer_, context.uc_stack.ss_sp,
                                   context.uc_stack.ss_size);
#elif defined(__SANITIZE_THREAD__)
    outside_sanitizer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibers_[static_cast<std::size_t>(first)]->sanitizer, 0);
#endif
    change(outside_, fibers_[static_cast<std::size_t>(first)]->place);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(outside_sanitizer_, nullptr, nullptr);
#endif
    return failure_;
}

/// Switches to a fiber, or back to run() if `next` is -1.
void Fibers::switch_to(int next) {
    if (next == current_) return;
    const Spared spared;  // the next fiber must not inherit that this one is in a library call
    Fiber& me = *fibers_[static_cast<std::size_t>(current_)];
    current_ = next;
    Place& target = next < 0 ? outside_ : fibers_[static_cast<std::size_t>(next)]->place;
#if defined(__SANITIZE_ADDRESS__)
    const stack_t& stack = next < 0 ? outside_stack_ : target.context.uc_stack;
    __sanitizer_start_switch_fiber(me.ended ? nullptr : &me.sanitizer, stack.ss_sp, stack.ss_size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(
        next < 0 ? outside_sanitizer_ : fibers_[static_cast<std::size_t>(next)]->sanitizer, 0);
#endif
    change(me.place, target);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(me.sanitizer, nullptr, nullptr);
#endif
}

void Fibers::draw_weights() {
    for (const auto& fiber : fibers_)
        fiber->weight = pace_ == Pace::uneven ? 1 << random_.below(8) : 1;
}

bool Fibers::somebody_was_rung() const {
    return std::ranges::any_of(
        fibers_, [](const auto& fiber) { return !fiber->ended && fiber->ready && fiber->ready(); });
}

/// Returns the fiber to run next, or -1 if none is left. While stopping, returns the first that has
/// not ended, so that each runs to its end.
int Fibers::choose(bool others_only) {
    if (pace_ == Pace::uneven && random_.chance(1)) draw_weights();
    // A fiber must not count as overslept only because the fiber that will ring its doorbell is
    // slower than others that poll. So no sleep ends early while a fiber that was rung has yet to
    // run, and well before sleeps end, all fibers get the same weight.
    const bool overslept = idles_ > kSleep && !somebody_was_rung();
    for (bool awake = false;; awake = true) {
        int sum = 0;
        int alive = 0;
        int chosen = -1;
        for (std::size_t i = 0; i < fibers_.size(); ++i) {
            Fiber& fiber = *fibers_[i];
            if (fiber.ended) continue;
            ++alive;
            if (stopping()) return static_cast<int>(i);
            const bool wakes = fiber.sleeping && (awake || overslept);
            if (fiber.ready && !wakes && !fiber.ready()) continue;
            const int own = idles_ > kSleep / 2 ? 1 : fiber.weight;
            const int weight = others_only && static_cast<int>(i) == current_ ? 0 : own;
            sum += weight;
            const bool first = chosen < 0;
            if (first || static_cast<int>(
                             random_.below(static_cast<std::uint64_t>(std::max(sum, 1)))) < weight)
                chosen = static_cast<int>(i);
        }
        if (alive == 0) return -1;
        if (chosen >= 0) {
            const Fiber& fiber = *fibers_[static_cast<std::size_t>(chosen)];
            if (fiber.ready && !fiber.ready()) {
                ++overslept_;
                idles_ += kOversleep;
            }
            if (idles_ <= kIdlesMax) return chosen;
            failure_ = "deadlock: no rank makes progress" + who_waits();
            continue;
        }
        if (awake && !stopping()) failure_ = "deadlock: every rank waits" + who_waits();
    }
}

std::string Fibers::who_waits() const {
    std::string text;
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
        const Fiber& fiber = *fibers_[i];
        if (fiber.ended) continue;
        text += "\n  " + fiber.name + ": ";
        if (describe) text += describe(static_cast<int>(i));
        if (fiber.ready) text += ", waits for " + fiber.why;
    }
    return text;
}

void Fibers::pass(bool others_only) {
    if (++switches_ > kSwitchesMax && !stopping())
        failure_ = "endless: ten million switches" + who_waits();
    if (!stopping()) switch_to(choose(others_only));
    check();
}

void Fibers::check() {
    if (stopping() && std::uncaught_exceptions() == 0) throw Stopped{};
}

void Fibers::maybe() {
    // Code that must not throw calls this, so a fiber notices a stop only at its next wait.
    if (stopping() || !random_.chance(pace_ == Pace::bursts ? 2 : switch_percent_)) return;
    ++switches_;
    switch_to(choose(false));
}

void Fibers::idle() {
    if (!stopping()) ++idles_;
    pass(true);
}

void Fibers::vanish() {
    fibers_[static_cast<std::size_t>(current_)]->ended = true;
    moved();
    switch_to(choose(true));
    std::terminate();
}

void Fibers::wait(Ready ready, std::string why, bool sleeping) {
    if (stopping()) return check();
    if (ready()) return idle();
    Fiber& me = *fibers_[static_cast<std::size_t>(current_)];
    me.ready = std::move(ready);
    me.why = std::move(why);
    me.sleeping = sleeping;
    if (++switches_ > kSwitchesMax) failure_ = "endless: ten million switches" + who_waits();
    if (!stopping()) switch_to(choose(false));
    me.ready = nullptr;
    check();
}

void Fibers::fail(const std::string& text) {
    if (failure_.empty()) failure_ = text;
    check();
}

}  // namespace oratorio::oracle
