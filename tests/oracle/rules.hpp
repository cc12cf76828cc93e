// SPDX-License-Identifier: BSD-3-Clause
// Rules: what MPI's chapter on consistency allows (MPI-4.1, 14.6.1) for every byte that a program
// reads and for every byte of the file at its end. The rules themselves are the page rules.cpp;
// analysis.cpp computes what they need to know about a program before it runs.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "oracle/program.hpp"

namespace oratorio::oracle {

/// By rank: the last of its steps that is known to be over.
using Clock = std::array<int, kRanksMax>;

/// One rank's data access.
struct Access {
    int step = 0;  ///< id of the step that starts it
    std::size_t part = 0;
    Rank rank = 0;
    int handle = 0;
    Direction direction = Direction::read;
    bool atomic = false;
    bool record = false;        ///< made with the shared file pointer
    int begin = 0;              ///< step of the program that starts it
    int end = 0;                ///< step after which it is done
    std::vector<Piece> pieces;  ///< in data order; empty for records, as their place is unknown
    Bytes bytes = 0;
    Clock known = {};  ///< what its rank knows when it starts
    /// What its rank knew when it last synced or opened the handle before it.
    Clock refreshed = {};
    int flushed = INT_MAX;  ///< step in which this rank next syncs or closes the handle after it
    bool failed = false;    ///< seen in the run: some of it may have happened
    std::size_t id = 0;     ///< number among all that have an order
};

/// A change of the file's size: the file holds zeros from there on.
struct Resize {
    Access as;  ///< its place among the accesses
    Bytes size = 0;
};

class Rules {
  public:
    explicit Rules(const Program& program);

    std::vector<Access> accesses;  ///< in the program's order

    /// Returns -1 if there is no such access.
    [[nodiscard]] int find(int step, std::size_t part) const;
    /// Returns the byte that an access writes at an offset; each of the accesses to a byte writes
    /// another value.
    [[nodiscard]] std::byte value(int access, Offset at) const;
    /// Returns what the file holds at an offset before anything is written.
    [[nodiscard]] std::byte old_value(Offset at) const;

    /// Returns "" if a read may return `found` at `at`, else the fault.
    [[nodiscard]] std::string check_read(int access, Offset at, std::byte found) const;
    /// As check_read(), for the file at the end.
    [[nodiscard]] std::string check_end(Offset at, std::byte found) const;
    /// Checks that an atomic read sees other atomic writes as a whole or not at all, and that of
    /// two atomic writes one is over the other. `found` holds the bytes in data order. Returns ""
    /// or the fault.
    [[nodiscard]] std::string check_atomic(int access, const std::vector<std::byte>& found) const;
    /// Checks that of two atomic writes of one open one is wholly over the other. `found` returns
    /// the byte at an offset below `end`, as the file has them at one moment. Returns "" or the
    /// fault.
    [[nodiscard]] std::string check_mixed(Offset end,
                                          const std::function<std::byte(Offset)>& found) const;
    /// Checks that a read may have ended after `bytes` bytes.
    [[nodiscard]] std::string check_count(int access, Bytes bytes) const;
    [[nodiscard]] std::string check_size(Bytes size) const;
    /// As check_size(), for the size that a rank got in a step of Kind::get_size.
    [[nodiscard]] std::string check_told_size(int step, std::size_t part, Bytes size) const;
    /// Records that the change of size in that step didn't happen, or only in part.
    void fail_resize(int step);
    /// Returns true if no other access writes there.
    [[nodiscard]] bool is_alone(int access, Offset at) const;
    /// Returns the end of the offsets that any access writes.
    [[nodiscard]] Offset data_end() const { return static_cast<Offset>(first_.size()) - 1; }

    // The rules themselves (rules.cpp).

    /// Returns true if, by the chapter, the conflicting access `later` comes after `earlier`.
    [[nodiscard]] static bool is_before(const Access& earlier, const Access& later);
    /// Returns true if `write` can't have begun when `read` was over.
    [[nodiscard]] static bool is_future(const Access& write, const Access& read);

  private:
    struct Walk;
    void walk();
    void take(Walk& walk, const Step& step, std::size_t part, int number);
    void flush(Rank rank, int handle, int number);
    void index_writers();
    void order();
    /// Returns is_before() from a table, as it is needed for every byte.
    [[nodiscard]] bool comes_before(const Access& earlier, const Access& later) const {
        return order_[earlier.id * ordered_ + later.id];
    }
    /// Calls visit(access) for all accesses that write a byte, until one call returns true. Returns
    /// true if one did.
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
    std::vector<std::uint32_t> first_;    ///< by offset: index of its first writer in writers_
    std::vector<std::uint16_t> writers_;  ///< numbers of accesses
    std::size_t ordered_ = 0;             ///< number of ids
    std::vector<char> order_;             ///< by id of the earlier one, then of the later one
    bool has_log_ = false;
};

}  // namespace oratorio::oracle
