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

/// For each rank, the number of its last step that is known to have ended.
using Clock = std::array<int, kRanksMax>;

/// One rank's data access.
struct Access {
    int step = 0;  ///< id of the step that starts the access
    std::size_t part = 0;
    Rank rank = 0;
    int handle = 0;
    Direction direction = Direction::read;
    bool atomic = false;
    bool record = false;  ///< made with the shared file pointer
    int begin = 0;        ///< step of the program that starts it
    int end = 0;          ///< step after which it is done
    /// In data order; empty for records, because their place in the file is unknown.
    std::vector<Piece> pieces;
    Bytes bytes = 0;
    Clock known = {};  ///< what the rank knows when it starts the access
    /// What the rank knew when it last synced or opened the handle before this access.
    Clock refreshed = {};
    /// The step in which the rank next syncs or closes the handle after this access.
    int flushed = INT_MAX;
    /// Seen only in the run: the access failed, so that any part of it may have happened.
    bool failed = false;
    /// Index in the table of orders, among all accesses that have an entry there.
    std::size_t id = 0;
};

/// A change of the file's size. The bytes from the new size on become zeros.
struct Resize {
    Access as;  ///< the change as an access, which has an order among the others
    Bytes size = 0;
};

class Rules {
  public:
    explicit Rules(const Program& program);

    std::vector<Access> accesses;  ///< accesses in the program's order

    /// Returns the index of the access in `accesses`; -1 if there is none.
    [[nodiscard]] int find(int step, std::size_t part) const;
    /// Returns the byte that an access writes at an offset. All accesses that write an offset write
    /// different values there.
    [[nodiscard]] std::byte value(int access, Offset at) const;
    /// Returns what the file holds at an offset before anything is written.
    [[nodiscard]] std::byte old_value(Offset at) const;

    /// Returns "" if a read may return `found` at `at`, else the fault.
    [[nodiscard]] std::string check_read(int access, Offset at, std::byte found) const;
    /// Does the same for the file's final contents.
    [[nodiscard]] std::string check_end(Offset at, std::byte found) const;
    /// Checks that an atomic read sees each other atomic write as a whole or not at all, and that
    /// of two atomic writes the same one is on top in all bytes. `found` holds the bytes read, in
    /// data order. Returns "" or the fault.
    [[nodiscard]] std::string check_atomic(int access, const std::vector<std::byte>& found) const;
    /// Checks that of two atomic writes through one open the same one is on top in all bytes that
    /// both write. `found` returns the byte at an offset below `end`; all bytes are from one
    /// moment. Returns "" or the fault.
    [[nodiscard]] std::string check_mixed(Offset end,
                                          const std::function<std::byte(Offset)>& found) const;
    /// Checks that the access, a read, may have returned `bytes` bytes.
    [[nodiscard]] std::string check_count(int access, Bytes bytes) const;
    [[nodiscard]] std::string check_size(Bytes size) const;
    /// Checks the size that a rank got in a step of Kind::get_size.
    [[nodiscard]] std::string check_told_size(int step, std::size_t part, Bytes size) const;
    /// Records that the change of size in that step did not happen, or only in part.
    void fail_resize(int step);
    /// Returns true if no other access writes that offset.
    [[nodiscard]] bool is_alone(int access, Offset at) const;
    /// Returns the end of the range of offsets that the program's accesses touch, except those with
    /// the shared file pointer.
    [[nodiscard]] Offset data_end() const { return static_cast<Offset>(first_.size()) - 1; }

    // The rules themselves (rules.cpp).

    /// Returns true if, by the chapter, the conflicting access `later` comes after `earlier`.
    [[nodiscard]] static bool is_before(const Access& earlier, const Access& later);
    /// Returns true if `write` began only after `read` had certainly ended.
    [[nodiscard]] static bool is_future(const Access& write, const Access& read);

  private:
    struct Walk;
    void walk();
    void take(Walk& walk, const Step& step, std::size_t part, int number);
    void flush(Rank rank, int handle, int number);
    void index_writers();
    void order();
    /// Looks up is_before() in a table, because it is needed for every byte.
    [[nodiscard]] bool comes_before(const Access& earlier, const Access& later) const {
        return order_[earlier.id * ordered_ + later.id];
    }
    /// Calls visit(access) for each write or change of size that sets the byte at `at`, until a
    /// call returns true. Returns true if a call did.
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
    /// A pretended access that wrote the bytes from before the program.
    Access before_all_;
    /// A pretended access that reads the file's final contents.
    Access after_all_;
    std::vector<Resize> resizes_;
    /// One entry for each rank and step of Kind::get_size.
    std::vector<Access> size_queries_;
    std::vector<std::uint32_t> first_;    ///< for each offset, the index in writers_ of its first
                                          ///< writer
    std::vector<std::uint16_t> writers_;  ///< numbers of the accesses that write an offset, for all
                                          ///< offsets in turn
    /// Number of accesses that have an order.
    std::size_t ordered_ = 0;
    /// Results of is_before(), by id of the earlier access, then of the later one.
    std::vector<char> order_;
    bool has_log_ = false;
};

}  // namespace oratorio::oracle
