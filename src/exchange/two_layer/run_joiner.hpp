// SPDX-License-Identifier: BSD-3-Clause
// RunJoiner: writes pieces to a run table in as few runs as possible. The pieces come in offset
// order. Pieces that touch become one piece, and equal pieces at equal distances one run, but never
// across extents of the region.
#pragma once

#include "plan/domains.hpp"
#include "type/run_table.hpp"

namespace oratorio {

class RunJoiner {
  public:
    /// Upper bound of the table bytes that one batch (pieces of equal length at equal distances)
    /// and finish() may take, whatever was added before.
    static constexpr std::size_t batch_bytes_max = 8 * RunTableWriter::run_bytes_max;

    RunJoiner(std::span<std::byte> into, const Region& region)
        : table_(into, region.begin), region_(region) {}

    [[nodiscard]] std::size_t bytes() const { return table_.bytes(); }
    /// Returns the last piece, joined with those that touch it.
    [[nodiscard]] Extent last() const { return {piece_.offset, piece_.offset + piece_.length}; }
    [[nodiscard]] std::int64_t pieces() const { return pieces_; }
    void add(Offset at, Bytes length) {
        if (piece_.count > 0 && at == piece_.end() && at < limit_) {
            piece_.length += length;
            return;
        }
        end_piece();
        piece_ = {at, length, 0, 1};
        limit_ = end_of_extent(at);
        ++pieces_;
    }
    void finish() {
        end_piece();
        if (row_.count > 0) table_.add(row_);
        row_ = {};
    }

  private:
    [[nodiscard]] Offset end_of_extent(Offset at) const {
        if (region_.count < 2) return INT64_MAX;
        return region_.begin + (at - region_.begin) / region_.stride * region_.stride +
               region_.length;
    }
    [[nodiscard]] bool continues_row() const {
        if (row_.count == 0 || piece_.length != row_.length || piece_.end() > row_limit_)
            return false;
        const Bytes stride = piece_.offset - row_.offset;
        return row_.count == 1 ? stride >= row_.length : stride == row_.count * row_.stride;
    }
    void end_piece() {
        if (piece_.count == 0) return;
        if (continues_row()) {
            if (row_.count == 1) row_.stride = piece_.offset - row_.offset;
            ++row_.count;
        } else {
            if (row_.count > 0) table_.add(row_);
            row_ = piece_;
            row_limit_ = limit_;
        }
        piece_ = {};
    }

    RunTableWriter table_;
    const Region& region_;
    StridedRun piece_;      ///< the last piece; may still grow
    Offset limit_ = 0;      ///< end of the extent that holds piece_
    StridedRun row_;        ///< equal pieces before piece_, not yet written
    Offset row_limit_ = 0;  ///< end of the extent that holds row_
    std::int64_t pieces_ = 0;
};

}  // namespace oratorio
