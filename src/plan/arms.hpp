// SPDX-License-Identifier: BSD-3-Clause
// Arm: one way to do a collective access, as in a multi-armed bandit: a method with its numbers of
// aggregators and slots, and its file domains. Arms are what `auto` compares by measured times
// (plan/learning).
#pragma once

#include <string>
#include <vector>

#include "plan/plan_inputs.hpp"

namespace oratorio {

struct Method;

struct Arm {
    const Method* method = nullptr;
    int aggregators = 0;  ///< 0 = the number that plan/aggregators chooses
    int slots = 0;        ///< 0 = the method's own number
    DomainsChoice domains = DomainsChoice::automatic;

    bool operator==(const Arm&) const = default;
};

/// Returns the arm in words, such as "double_buffer with 8 aggregators".
[[nodiscard]] std::string to_text(const Arm& arm);

/// Returns the options, overridden by those of the arm.
[[nodiscard]] PlanOptions with_arm(const PlanOptions& options, const Arm& arm);

/// An arm of an access, with its estimated time.
struct ArmEstimate {
    Arm arm;
    double seconds = 0;  ///< estimated by the cost model
    int waiting = 0;     ///< how much ranks wait for each other: 0 not at all, 1 within their node,
                         ///< 2 for messages
};

/// Returns the arms of an access that `auto` may choose, at most kArmsMost: `chosen` with its own
/// parameters first, the others by their estimates. Pure.
[[nodiscard]] std::vector<ArmEstimate> arms_of(const PlanInputs& inputs, const Method& chosen);
inline constexpr std::size_t kArmsMost = 8;

/// AccessKind: identifies accesses that take about the same time with the same arm. Sizes are
/// rounded, so that accesses that differ a little are of one kind.
struct AccessKind {
    Direction direction = Direction::read;
    int ranks = 0;
    int ranks_with_data = 0;
    int nodes = 0;
    std::uint64_t file_system = 0;  ///< f_type of the file system, see statfs(2)
    int quarters = 0;               ///< four times the logarithm (base 2) of the bytes
    int piece = 0;                  ///< logarithm of the mean bytes of a piece in the file
    int memory_piece = 0;           ///< logarithm of the mean bytes of a piece in memory
    int density = 0;  ///< logarithm of the bytes from the first to the last, per byte of data
    int overlap = 0;  ///< logarithm of how many ranks have data at a file offset, on average
    /// Bits: no holes, aligned to pages, direct I/O, variables interleave, asynchronous store,
    /// atomic mode.
    int facts = 0;
    std::uint64_t options = 0;  ///< hash of the options that `facts` lacks

    bool operator==(const AccessKind&) const = default;
};

[[nodiscard]] AccessKind kind_of(const PlanInputs& inputs);

}  // namespace oratorio
