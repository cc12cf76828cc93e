// SPDX-License-Identifier: BSD-3-Clause
// Rules: what MPI's chapter on consistency allows (MPI-4.1, 14.6.1), for every byte that a program
// reads and for every byte of the file at its end. The rules themselves are the page rules.cpp;
// what they are asked about a program is worked out here before it runs.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "oracle/program.hpp"

namespace oratorio::oracle {

/// Of each rank, the last step that is known to be over.
using Clock = std::array<int, kRanksMax>;

/// One rank's data access.
struct Access {
    int step = 0;  ///< id of the step that starts it
    std::size_t part = 0;
    Rank rank = 0;
    int handle = 0;
    Direction direction = Direction::read;
    bool atomic = false;
    bool record = false;        ///< with the shared pointer
    int begin = 0;              ///< step of the program that starts it
    int end = 0;                ///< and the one after which it is done
    std::vector<Piece> pieces;  ///< in data order; of records unknown
    Bytes bytes = 0;
    Clock known = {};       ///< when it starts
    Clock refreshed = {};   ///< when this rank last synced or opened the handle before it
    int flushed = INT_MAX;  ///< step in which this rank next syncs or closes the handle after it
    bool failed = false;    ///< seen when it ran: some of it may have happened
    std::size_t id = 0;     ///< among all that have an order
};

/// A change of the file's size: zeros from there on.
struct Resize {
    Access as;  ///< its place among the accesses
    Bytes size = 0;
};

class Rules {
  public:
    explicit Rules(const Program& program);

    std::vector<Access> accesses;  ///< in the program's order

    /// -1: no such access.
    [[nodiscard]] int find(int step, std::size_t part) const;
    /// The byte that an access writes at an offset; each of the accesses to a byte has its own.
    [[nodiscard]] std::byte value(int access, Offset at) const;
    /// What the file holds before anything is written.
    [[nodiscard]] std::byte old_value(Offset at) const;

    /// "" if `found` may have been read at `at`, else what is wrong.
    [[nodiscard]] std::string check_read(int access, Offset at, std::byte found) const;
    /// The same for the file at the end.
    [[nodiscard]] std::string check_end(Offset at, std::byte found) const;
    /// An atomic read sees other atomic writes wholly or not at all, and of two atomic writes one
    /// is over the other; `found` gives the bytes in data order. "" if so.
    [[nodiscard]] std::string check_atomic(int access, const std::vector<std::byte>& found) const;
    /// Of two atomic writes of one open one is wholly over the other. `found` returns the byte at
    /// an offset below `end`, as the file has them at one moment. "" if so.
    [[nodiscard]] std::string check_mixed(Offset end,
                                          const std::function<std::byte(Offset)>& found) const;
    /// Whether a read may have ended after so many bytes.
    [[nodiscard]] std::string check_count(int access, Bytes bytes) const;
    [[nodiscard]] std::string check_size(Bytes size) const;
    /// The same of what a rank was told in a step of Kind::get_size.
    [[nodiscard]] std::string check_told_size(int step, std::size_t part, Bytes size) const;
    /// A change of size in that step that didn't happen, or only in part.
    void fail_resize(int step);
    /// Nobody else writes there.
    [[nodiscard]] bool is_alone(int access, Offset at) const;
    /// Offsets that anything was written to.
    [[nodiscard]] Offset data_end() const { return static_cast<Offset>(first_.size()) - 1; }

    // The page of rules (rules.cpp).

    /// The chapter says that `later`, which conflicts, comes after `earlier`.
    [[nodiscard]] static bool is_before(const Access& earlier, const Access& later);
    /// `write` can't have begun when `read` was over.
    [[nodiscard]] static bool is_future(const Access& write, const Access& read);

  private:
    struct Walk;
    void walk();
    void take(Walk& walk, const Step& step, std::size_t part, int number);
    void flush(Rank rank, int handle, int number);
    void index_writers();
    void order();
    /// is_before(), worked out once: it is asked for every byte.
    [[nodiscard]] bool comes_before(const Access& earlier, const Access& later) const {
        return order_[earlier.id * ordered_ + later.id];
    }
    /// visit(access) of all that write a byte, until one says true; whether one did.
    template <class Visit>
    bool any_writer(Offset at, Visit visit) const {
        for (std::uint32_t i = at < data_end() ? first_[static_cast<std::size_t>(at)] : 0;
             at < data_end() && i < first_[static_cast<std::size_t>(at) + 1]; ++i) {
            if (visit(accesses[writers_[i]])) return true;
        }
        return std::any_of(resizes_.begin(), resizes_.end(), [&](const Resize& resize) {
            return resize.size <= at && visit(resize.as);
        });
    }
    [[nodiscard]] const Access* writer_of(Offset at, std::byte found) const;
    [[nodiscard]] std::string judge(const Access& reader, Offset at, std::byte found) const;
    [[nodiscard]] std::string explain(const Access& reader, Offset at, std::byte found) const;
    [[nodiscard]] std::string name(const Access& access) const;
    [[nodiscard]] bool overwritten(const Access& write, const Access& reader, Offset at,
                                   const Access** by) const;
    void sizes(const Access& reader, Bytes& least, Bytes& most) const;
    [[nodiscard]] std::string check_size(const Access& reader, Bytes size,
                                         const std::string& when) const;

    const Program& program_;
    Access before_all_;  ///< "wrote" the old bytes
    Access after_all_;   ///< "reads" the file at the end
    std::vector<Resize> resizes_;
    std::vector<Access> size_queries_;    ///< one of each rank and step of Kind::get_size
    std::vector<std::uint32_t> first_;    ///< by offset: of its writers in writers_
    std::vector<std::uint16_t> writers_;  ///< accesses
    std::size_t ordered_ = 0;             ///< ids
    std::vector<char> order_;             ///< by id of the earlier one, then of the later one
    bool has_log_ = false;
};

}  // namespace oratorio::oracle
