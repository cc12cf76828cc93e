// SPDX-License-Identifier: BSD-3-Clause
// MoveList: copies between the user's buffer and a staging area that are known in advance, so that
// the arm `bare` has no datatypes to walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// The instructions that copy pieces of 8 bytes at equal distances.
enum class Instructions {
    plain,  ///< a load and a store for each piece
    avx2,   ///< gather instructions for 4 pieces
    avx512  ///< gather and scatter instructions for 8 pieces
};
/// Returns true if the processor has these instructions.
bool has_instructions(Instructions instructions);

/// Bytes that are contiguous both in the user's buffer (`memory`) and in the staging area.
struct Move {
    std::size_t memory;
    std::size_t area;
    std::size_t bytes;
};

class MoveList {
  public:
    /// Describes the moves in few entries: equal pieces at equal distances are a run, and equal
    /// runs at equal distances are the rows of one entry.
    explicit MoveList(std::span<const Move> moves);

    /// Copies from the user's buffer to the area.
    void gather(const std::byte* user, std::byte* area, Instructions instructions) const;
    /// Copies from the area to the user's buffer.
    void scatter(std::byte* user, const std::byte* area, Instructions instructions) const;

  private:
    /// The distances between neighbouring pieces or rows, in bytes.
    struct Step {
        std::ptrdiff_t memory = 0;
        std::ptrdiff_t area = 0;
        bool operator==(const Step&) const = default;
    };
    struct Run {
        Move first;
        std::size_t count;
        Step step;
        std::size_t rows = 1;
        Step row_step = {};
    };
    /// A single piece. The list is read once in each pass, so it is kept short.
    struct Single {
        std::uint32_t memory;
        std::uint32_t area;
        std::uint32_t bytes;
    };
    static Step step_between(const Move& from, const Move& to);
    static std::size_t run_length(std::span<const Move> moves);
    void add_run(const Run& run);
    void add_single(const Move& move);
    /// Copies all pieces. `To` and `From` select the sides of the moves.
    template <class To, class From>
    void copy(std::byte* to, const std::byte* from, Instructions instructions) const;

    std::vector<Run> runs_;
    std::vector<Single> singles_;
};

}  // namespace bench
