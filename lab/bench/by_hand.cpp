// SPDX-License-Identifier: BSD-3-Clause
#include "by_hand.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

namespace bench {

namespace {

/// The bytes that this rank sends to the ranks of the row, or receives from them, with the counts
/// and displacements for MPI_Alltoallv.
struct Blocks {
    std::vector<int> counts;
    std::vector<int> begins;
    std::vector<std::byte> bytes;

    explicit Blocks(const std::vector<std::uint64_t>& sizes) {
        std::uint64_t sum = 0;
        for (const std::uint64_t size : sizes) {
            counts.push_back(static_cast<int>(size));
            begins.push_back(static_cast<int>(sum));
            sum += size;
        }
        bytes.resize(sum);
    }
};

class RowExchange {
  public:
    RowExchange(const Access& access, std::size_t me)
        : access_(access),
          row_(access.row),
          me_(me),
          mine_(sizes(access.for_each_piece, true)),
          extent_(others()) {}

    std::uint64_t begin() const { return row_.begin + share_begin(me_); }
    std::vector<std::byte>& share() { return share_; }

    void write(const Buffer& buffer, MPI_Comm comm) {
        each_of_mine([&](const Piece& part, std::byte* block) {
            std::memcpy(block, buffer.data() + part.memory, part.bytes);
        });
        MPI_Alltoallv(mine_.bytes.data(), mine_.counts.data(), mine_.begins.data(), MPI_BYTE,
                      extent_.bytes.data(), extent_.counts.data(), extent_.begins.data(), MPI_BYTE,
                      comm);
        each_in_extent([&](std::uint64_t at, std::byte* block, std::size_t bytes) {
            std::memcpy(share_.data() + at, block, bytes);
        });
    }

    void read(Buffer& buffer, MPI_Comm comm) {
        each_in_extent([&](std::uint64_t at, std::byte* block, std::size_t bytes) {
            std::memcpy(block, share_.data() + at, bytes);
        });
        MPI_Alltoallv(extent_.bytes.data(), extent_.counts.data(), extent_.begins.data(), MPI_BYTE,
                      mine_.bytes.data(), mine_.counts.data(), mine_.begins.data(), MPI_BYTE, comm);
        each_of_mine([&](const Piece& part, const std::byte* block) {
            std::memcpy(buffer.data() + part.memory, block, part.bytes);
        });
    }

  private:
    std::uint64_t share_begin(std::size_t i) const {
        return (row_.end - row_.begin) * i / row_.ranks.size();
    }

    /// Calls visit(share, part) for each part of a piece that lies in one rank's share.
    template <class Visit>
    void cut(const Piece& piece, Visit visit) const {
        const std::size_t n = row_.ranks.size();
        Piece rest = piece;
        std::size_t i = (piece.file - row_.begin) * n / (row_.end - row_.begin);
        while (rest.bytes > 0) {
            while (row_.begin + share_begin(i + 1) <= rest.file) ++i;
            const std::uint64_t room = row_.begin + share_begin(i + 1) - rest.file;
            const Piece part{rest.memory, rest.file, std::min<std::size_t>(rest.bytes, room)};
            visit(i, part);
            rest = {rest.memory + part.bytes, rest.file + part.bytes, rest.bytes - part.bytes};
        }
    }

    std::vector<std::uint64_t> sizes(const std::function<void(const PieceVisitor&)>& pieces,
                                     bool all) const {
        std::vector<std::uint64_t> bytes(row_.ranks.size(), 0);
        pieces([&](const Piece& piece) {
            cut(piece, [&](std::size_t i, const Piece& part) {
                if (all || i == me_) bytes[i] += part.bytes;
            });
        });
        return bytes;
    }

    std::vector<std::uint64_t> others() {
        share_.resize(share_begin(me_ + 1) - share_begin(me_));
        std::vector<std::uint64_t> bytes;
        for (std::size_t i = 0; i < row_.ranks.size(); ++i) {
            const auto pieces = [&](const PieceVisitor& visit) { row_.for_each_piece(i, visit); };
            bytes.push_back(sizes(pieces, false)[me_]);
        }
        return bytes;
    }

    template <class Move>
    void each_of_mine(Move move) {
        std::vector<int> at = mine_.begins;
        access_.for_each_piece([&](const Piece& piece) {
            cut(piece, [&](std::size_t i, const Piece& part) {
                move(part, mine_.bytes.data() + at[i]);
                at[i] += static_cast<int>(part.bytes);
            });
        });
    }

    template <class Move>
    void each_in_extent(Move move) {
        for (std::size_t from = 0; from < row_.ranks.size(); ++from) {
            std::byte* block = extent_.bytes.data() + extent_.begins[from];
            row_.for_each_piece(from, [&](const Piece& piece) {
                cut(piece, [&](std::size_t i, const Piece& part) {
                    if (i != me_) return;
                    move(part.file - begin(), block, part.bytes);
                    block += part.bytes;
                });
            });
        }
    }

    const Access& access_;
    const Row& row_;
    std::size_t me_;
    std::vector<std::byte> share_;  ///< this rank's extent of the file
    Blocks mine_;
    Blocks extent_;
};

}  // namespace

Sample run_by_hand(const PosixPass& pass, const Access& access, Buffer& buffer, MPI_Comm comm) {
    Sample sample;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const auto& ranks = access.row.ranks;
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    const std::uint64_t row_bytes = access.row.end - access.row.begin;
    if (found == ranks.end()) {
        sample.error = "this workload has no arm by_hand";
    } else if (access.buffer_bytes > INT_MAX || row_bytes / ranks.size() >= INT_MAX) {
        sample.error = "by_hand: a rank exchanges 2 GiB or more, the limit of MPI_Alltoallv";
    }
    if (!all_agree(sample.error.empty(), comm)) return sample;
    const bool write = pass.direction == Direction::write;
    MPI_Comm row;
    MPI_Comm_split(comm, ranks.front(), rank, &row);
    sample = measure_posix(pass, comm, [&](int fd) {
        RowExchange exchange(access, static_cast<std::size_t>(found - ranks.begin()));
        auto& share = exchange.share();
        if (write) exchange.write(buffer, row);
        const bool moved = write ? pwrite_all(fd, share.data(), share.size(), exchange.begin())
                                 : pread_all(fd, share.data(), share.size(), exchange.begin());
        if (!write) exchange.read(buffer, row);
        return moved;
    });
    MPI_Comm_free(&row);
    return sample;
}

}  // namespace bench
