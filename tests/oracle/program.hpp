// SPDX-License-Identifier: BSD-3-Clause
// Program: what N ranks do to one file, as a list of steps that each rank walks in its order. The
// list makes every program free of deadlocks: whoever waits, waits for steps that stand before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file/file.hpp"
#include "oracle/client.hpp"
#include "oracle/fibers.hpp"
#include "oracle/storage.hpp"

namespace oratorio::oracle {

inline constexpr int kRanksMax = 6;
/// Data lies below; records of the shared pointer lie from here on.
inline constexpr Offset kLogBegin = 64 << 10;

struct Piece {
    Offset at = 0;
    Bytes length = 0;
};

/// A file view: pieces, again and again.
struct Tiles {
    Offset displacement = 0;
    Bytes extent = 1;
    std::vector<Piece> pieces;

    [[nodiscard]] Bytes size() const;
    /// Where `bytes` of the data from byte `from` on lie in the file.
    [[nodiscard]] std::vector<Piece> range(Bytes from, Bytes bytes) const;
};

enum class Kind {
    open,
    close,
    view,
    access,  ///< blocking
    start,   ///< nonblocking, or the begin of a split collective
    finish,  ///< its end
    sync,
    size,      ///< MPI_File_set_size
    get_size,  ///< each rank by itself
    atomic,
    barrier,
    message,
    poll,  ///< a call that moves nonblocking accesses on, as MPI_Test
};

/// One rank's share of a step.
struct Part {
    Rank rank = 0;
    Tiles view;      ///< Kind::view
    Bytes from = 0;  ///< data of the view
    Bytes bytes = 0;
};

struct Step {
    int id = 0;
    Kind kind = Kind::barrier;
    int handle = -1;
    Direction direction = Direction::read;
    Positioning at = Positioning::explicit_offset;
    bool collective = false;
    bool split = false;
    int refers = -1;  ///< Kind::finish: the id of the start
    Bytes size = 0;   ///< Kind::size
    bool on = false;  ///< Kind::atomic
    Rank from = 0;    ///< Kind::message
    Rank to = 0;
    std::vector<Part> parts;  ///< barrier and message have none
};

struct Handle {
    std::vector<Rank> members;
    HintMap hints;
    bool log = false;  ///< only the shared pointer is used on it
};

/// What moves nonblocking accesses on between a rank's calls.
enum class Beside {
    nothing,  ///< only the program's calls (oratorio_progress=calls)
    helper,   ///< a thread that may not call the host MPI
    full,     ///< a thread that may
};

/// What isn't the program's own: where it runs and how.
struct Setting {
    int ranks_per_node = 0;  ///< 0: all on one
    int cores = 1;
    bool node_memory = true;  ///< collectives of a node in shared memory (NodeTransport)
    bool node_lists = false;  ///< and of several nodes what all plan by, once for each
    Beside beside = Beside::nothing;
    Pace pace = Pace::even;
    int switch_percent = 20;
    int late_percent = 20;
    Bytes prefill = 0;
    bool asynchronous = false;             ///< the store
    ClientKind client = ClientKind::none;  ///< of each node
    int trouble_percent = 0;  ///< of short transfers, EINTR and EAGAIN: must not be seen
    Scarcity memory;
    Rank fault_rank = -1;
    Fault fault;           ///< of that rank: errors are legal then
    int failing_lock = 0;  ///< from this lock of the job on (from 1) it gets none; 0: it gets all
    Rank dying = -1;       ///< this rank ends, in the middle of a call
    int last_lock = 0;     ///< while it holds this lock of the job (from 1)
};

struct Program {
    std::uint64_t seed = 0;
    std::uint64_t schedule = 0;  ///< seed of the order in which things happen
    int ranks = 2;
    Setting setting;
    std::vector<Handle> handles;
    std::vector<Step> steps;

    /// Something fails that a call may fail for.
    [[nodiscard]] bool faulty() const {
        const Scarcity& memory = setting.memory;
        const bool large = memory.maps || setting.client != ClientKind::none;
        return setting.fault_rank >= 0 || memory.empty_step >= 0 || (memory.first > 0 && large);
    }
    [[nodiscard]] int accesses() const;
};

/// What programs may have in them. By default some are over clients with caches, and in some a rank
/// runs out of small memory or of threads, for which nothing fails.
struct Features {
    bool faults = false;
    bool only_faults = false;
    bool scarce = false;                   ///< memory runs out in all
    bool clients = false;                  ///< all are over clients with caches
    bool plain_clients = false;            ///< the same, and every store takes them for local
    ClientKind client = ClientKind::none;  ///< all are over clients of this kind
    std::string locks;                     ///< "" or the hint oratorio_locks of every handle
    bool atomic = false;                   ///< mostly atomic mode, and views that overlap
    bool deaths = false;                   ///< a rank dies while it holds a lock of the job
    bool fresh_views = false;  ///< a view is set before each collective access, so no plan is kept
    std::string method;        ///< "" or the method that every handle asks for
    int ranks = 0;             ///< of every program; 0: drawn
    bool routines = false;     ///< only what MPI has a routine for (there is no iwrite_ordered)
};

/// The program of a seed.
Program make_program(std::uint64_t seed, const Features& features);

/// One line per step, as a person would write it down.
std::string describe(const Program& program);
std::string describe(const Program& program, const Step& step);
const char* name_of(Kind kind);

}  // namespace oratorio::oracle
