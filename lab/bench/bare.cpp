// SPDX-License-Identifier: BSD-3-Clause
#include "bare.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "clock.hpp"

namespace bench {

namespace {

constexpr std::size_t kShare = std::size_t{512} << 10;  // bytes of a rank in a window; fits in L2
constexpr std::uint64_t kLongRange = 4096;  // file ranges from this length on are moved by the rank

/// A range of the file that one call reads or writes, and its place in the staging area or, for a
/// single piece, in the user's buffer.
struct FileRange {
    std::uint64_t file;
    std::size_t at;
    std::size_t bytes;
    bool to_user;
};

/// The moves of half a MiB of the user's data, and the ranges of the file that have it.
struct Chunk {
    std::vector<FileRange> ranges;
    MoveList moves;
};

std::vector<Piece> pieces_of(const Access& access) {
    std::vector<Piece> pieces;
    access.for_each_piece([&](const Piece& piece) { pieces.push_back(piece); });
    return pieces;
}

/// Cuts pieces so that none is longer than a share.
std::vector<Piece> cut(const std::vector<Piece>& pieces) {
    std::vector<Piece> parts;
    for (Piece piece : pieces) {
        for (; piece.bytes > kShare; piece.bytes -= kShare) {
            parts.push_back({piece.memory, piece.file, kShare});
            piece.memory += kShare;
            piece.file += kShare;
        }
        parts.push_back(piece);
    }
    return parts;
}

/// Makes a chunk of pieces that are neighbours in memory. A range of the file with one piece needs
/// no staging.
Chunk make_chunk(const std::vector<Piece>& pieces) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return pieces[i].file; });
    std::vector<FileRange> ranges;
    std::vector<std::optional<Move>> moves(pieces.size());
    std::size_t filled = 0;
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        const Piece& first = pieces[order[begin]];
        std::size_t bytes = 0;
        for (; end < order.size() && pieces[order[end]].file == first.file + bytes; ++end) {
            const Piece& piece = pieces[order[end]];
            moves[order[end]] = Move{piece.memory, filled + bytes, piece.bytes};
            bytes += piece.bytes;
        }
        const bool to_user = end - begin == 1;
        ranges.push_back({first.file, to_user ? first.memory : filled, bytes, to_user});
        if (to_user)
            moves[order[begin]].reset();
        else
            filled += bytes;
    }
    std::vector<Move> staged;
    for (const auto& move : moves)
        if (move) staged.push_back(*move);
    return {std::move(ranges), MoveList(staged)};
}

/// Returns the chunks of a rank that moves its own ranges of the file. A chunk ends at a gap in
/// memory if one is near its end, so that the rows of a structure are not cut.
std::vector<Chunk> chunks_of(const std::vector<Piece>& pieces) {
    std::vector<Piece> ordered = cut(pieces);
    std::ranges::stable_sort(ordered, {}, &Piece::memory);
    std::vector<Chunk> chunks;
    std::vector<Piece> some;
    std::size_t bytes = 0;
    for (const Piece& piece : ordered) {
        const bool gap = !some.empty() && some.back().memory + some.back().bytes < piece.memory;
        if (bytes + piece.bytes > kShare || (gap && bytes > kShare / 8 * 7)) {
            chunks.push_back(make_chunk(some));
            some.clear();
            bytes = 0;
        }
        some.push_back(piece);
        bytes += piece.bytes;
    }
    if (!some.empty()) chunks.push_back(make_chunk(some));
    return chunks;
}

/// Returns true if the pieces form long ranges of the file. REQUIRES: they are in file order.
bool have_long_ranges(const std::vector<Piece>& pieces) {
    std::uint64_t ranges = 0, bytes = 0, end = ~std::uint64_t{0};
    for (const Piece& piece : pieces) {
        ranges += piece.file != end ? 1 : 0;
        bytes += piece.bytes;
        end = piece.file + piece.bytes;
    }
    return bytes >= ranges * kLongRange;
}

/// An open file and the direction of a pass. Keeps the first error.
class OpenedFile {
  public:
    OpenedFile(int fd, bool write) : fd_(fd), write_(write) {}
    [[nodiscard]] int error() const { return error_; }

    void move(std::byte* memory, std::size_t bytes, std::uint64_t offset) {
        const bool moved =
            write_ ? pwrite_all(fd_, memory, bytes, offset) : pread_all(fd_, memory, bytes, offset);
        if (!moved && error_ == 0) error_ = errno != 0 ? errno : EIO;
    }
    /// Reads bytes that a write is to keep. A file that ends early has zeros there.
    void read_old(std::byte* memory, std::size_t bytes, std::uint64_t offset) {
        const ssize_t got = pread(fd_, memory, bytes, static_cast<off_t>(offset));
        if (got < 0 && error_ == 0) error_ = errno;
        const auto kept = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        std::memset(memory + kept, 0, bytes - kept);
    }

  private:
    int fd_;
    bool write_;
    int error_ = 0;
};

/// Moves the ranges of a rank by its own calls.
class AloneMover {
  public:
    explicit AloneMover(const std::vector<Piece>& pieces) : chunks_(chunks_of(pieces)) {}

    void move(OpenedFile& file, Direction direction, std::byte* user, Instructions instructions) {
        for (const Chunk& chunk : chunks_) {
            if (direction == Direction::write)
                chunk.moves.gather(user, staging_.data(), instructions);
            for (const FileRange& range : chunk.ranges)
                file.move((range.to_user ? user : staging_.data()) + range.at, range.bytes,
                          range.file);
            if (direction == Direction::read)
                chunk.moves.scatter(user, staging_.data(), instructions);
        }
    }

  private:
    std::vector<Chunk> chunks_;
    Buffer staging_ = Buffer(kShare);
};

/// Two windows in memory that all ranks share, and a barrier.
class SharedWindows {
  public:
    SharedWindows(MPI_Comm comm, Place place) : place_(place) {
        const auto bytes = static_cast<MPI_Aint>(page_bytes + 2 * window_bytes());
        int unit = 1;
        MPI_Aint size = 0;
        void* own = nullptr;
        void* first = nullptr;
        MPI_Win_allocate_shared(place.rank == 0 ? bytes : 0, 1, MPI_INFO_NULL, comm, &own,
                                &window_);
        MPI_Win_shared_query(window_, 0, &size, &unit, static_cast<void*>(&first));
        base_ = static_cast<std::byte*>(first);
        if (place.rank == 0) {
            pthread_barrierattr_t shared;
            pthread_barrierattr_init(&shared);
            pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
            pthread_barrier_init(barrier(), &shared, static_cast<unsigned>(place.ranks));
            pthread_barrierattr_destroy(&shared);
        }
        MPI_Barrier(comm);
    }
    ~SharedWindows() { MPI_Win_free(&window_); }
    SharedWindows(const SharedWindows&) = delete;
    SharedWindows& operator=(const SharedWindows&) = delete;

    [[nodiscard]] std::size_t window_bytes() const {
        return kShare * static_cast<std::size_t>(place_.ranks);
    }
    [[nodiscard]] std::byte* window(std::size_t number) const {
        return base_ + page_bytes + number % 2 * window_bytes();
    }
    /// Returns where in a window the part begins that this rank reads or writes.
    [[nodiscard]] std::size_t share_begin() const {
        return kShare * static_cast<std::size_t>(place_.rank);
    }
    void meet() { pthread_barrier_wait(barrier()); }

  private:
    [[nodiscard]] pthread_barrier_t* barrier() const {
        return reinterpret_cast<pthread_barrier_t*>(base_);
    }

    Place place_;
    MPI_Win window_ = MPI_WIN_NULL;
    std::byte* base_ = nullptr;
};

/// Moves the file window by window, together with all other ranks.
class SharedMover {
  public:
    /// Collective. `pieces` are in file order.
    SharedMover(const std::vector<Piece>& pieces, bool has_holes, MPI_Comm comm, Place place)
        : has_holes_(has_holes), windows_(comm, place) {
        const std::uint64_t none = ~std::uint64_t{0};
        begin_ = pieces.empty() ? none : pieces.front().file;
        end_ = pieces.empty() ? 0 : pieces.back().file + pieces.back().bytes;
        MPI_Allreduce(MPI_IN_PLACE, &begin_, 1, MPI_UINT64_T, MPI_MIN, comm);
        MPI_Allreduce(MPI_IN_PLACE, &end_, 1, MPI_UINT64_T, MPI_MAX, comm);
        const std::size_t bytes = windows_.window_bytes();
        std::vector<std::vector<Move>> moves((end_ - begin_ + bytes - 1) / bytes);
        for (Piece left : pieces) {
            while (left.bytes > 0) {
                const std::uint64_t from = left.file - begin_;
                const std::size_t taken = std::min(left.bytes, bytes - from % bytes);
                moves[from / bytes].push_back({left.memory, from % bytes, taken});
                left = {left.memory + taken, left.file + taken, left.bytes - taken};
            }
        }
        for (const auto& of_window : moves) moves_.emplace_back(of_window);
    }

    void move(OpenedFile& file, Direction direction, std::byte* user, Instructions instructions) {
        if (direction == Direction::write)
            write(file, user, instructions);
        else
            read(file, user, instructions);
    }

  private:
    /// A rank copies into a window after all ranks have met for the window before it. So all ranks
    /// have already written their shares of the second window before it, which had the same memory.
    void write(OpenedFile& file, const std::byte* user, Instructions instructions) {
        if (has_holes_) load(file, 0);
        windows_.meet();
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            moves_[i].gather(user, windows_.window(i), instructions);
            if (has_holes_ && i + 1 < moves_.size()) load(file, i + 1);
            windows_.meet();
            const Share mine = share(i);
            file.move(mine.memory, mine.bytes, mine.file);
        }
    }

    void read(OpenedFile& file, std::byte* user, Instructions instructions) {
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            const Share mine = share(i);
            file.move(mine.memory, mine.bytes, mine.file);
            windows_.meet();
            moves_[i].scatter(user, windows_.window(i), instructions);
        }
    }

    struct Share {
        std::byte* memory;
        std::size_t bytes;
        std::uint64_t file;
    };
    /// Returns this rank's part of a window, which is empty past the end of the data.
    [[nodiscard]] Share share(std::size_t window) const {
        const std::uint64_t at = begin_ + window * windows_.window_bytes() + windows_.share_begin();
        const std::uint64_t bytes = at < end_ ? std::min<std::uint64_t>(kShare, end_ - at) : 0;
        return {windows_.window(window) + windows_.share_begin(), bytes, at};
    }
    void load(OpenedFile& file, std::size_t window) {
        const Share mine = share(window);
        file.read_old(mine.memory, mine.bytes, mine.file);
    }

    bool has_holes_;
    SharedWindows windows_;
    std::uint64_t begin_ = 0, end_ = 0;  ///< the hull of all ranks' data
    std::vector<MoveList> moves_;        ///< this rank's moves in each window
};

}  // namespace

Sample run_bare(Instructions instructions, const PosixPass& pass, const Access& access,
                Buffer& buffer, MPI_Comm comm) {
    Sample sample;
    Place place{};
    MPI_Comm_rank(comm, &place.rank);
    MPI_Comm_size(comm, &place.ranks);
    if (nodes_of(comm) > 1) sample.error = "bare: the ranks are on several nodes";
    if (!has_instructions(instructions))
        sample.error = "bare: the processor lacks the instructions";
    if (!all_agree(sample.error.empty(), comm)) return sample;
    std::vector<Piece> pieces = pieces_of(access);
    std::ranges::stable_sort(pieces, {}, &Piece::file);
    const auto measure = [&](auto mover) {
        return measure_posix(pass, comm, [&](int fd) {
            OpenedFile file(fd, pass.direction == Direction::write);
            mover.move(file, pass.direction, buffer.data(), instructions);
            errno = file.error();
            return errno == 0;
        });
    };
    if (all_agree(have_long_ranges(pieces), comm)) return measure(AloneMover(pieces));
    const bool has_holes = static_cast<bool>(access.holes.next);
    return measure(SharedMover(pieces, has_holes, comm, place));
}

}  // namespace bench
