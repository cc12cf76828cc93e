// SPDX-License-Identifier: BSD-3-Clause
// Program: the accesses of N ranks to one file, as a list of steps that each rank walks in order.
// Programs in this form are free of deadlocks, because a step waits only for steps before it.
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
/// Data lies below this offset; records of the shared file pointer lie from here on.
inline constexpr Offset kLogBegin = 64 << 10;

struct Piece {
    Offset at = 0;
    Bytes length = 0;
};

/// A file view: a tile of pieces, repeated every `extent` bytes.
struct Tiles {
    Offset displacement = 0;
    Bytes extent = 1;
    std::vector<Piece> pieces;

    [[nodiscard]] Bytes size() const;
    /// Returns the places in the file of `bytes` bytes of the view's data, from byte `from` on.
    [[nodiscard]] std::vector<Piece> range(Bytes from, Bytes bytes) const;
};

enum class Kind {
    open,
    close,
    view,
    access,  ///< a blocking access
    start,   ///< a nonblocking access, or the start of a split collective
    finish,  ///< the end of an access begun by `start`
    sync,
    size,      ///< MPI_File_set_size
    get_size,  ///< MPI_File_get_size by one rank or more, independently
    atomic,
    barrier,
    message,
    poll,  ///< a call that advances nonblocking accesses, as MPI_Test does
};

/// One rank's share of a step.
struct Part {
    Rank rank = 0;
    Tiles view;      ///< the view to set, if the step is Kind::view
    Bytes from = 0;  ///< first byte of the access, in the data of the view
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
    int refers = -1;  ///< id of the step `start` that a step `finish` ends
    Bytes size = 0;   ///< the new size of a step `size`
    bool on = false;  ///< the mode that a step `atomic` sets
    Rank from = 0;    ///< sender of a message
    Rank to = 0;
    std::vector<Part> parts;  ///< the shares of the ranks; barriers and messages have none
};

struct Handle {
    std::vector<Rank> members;
    HintMap hints;
    bool log = false;  ///< the handle is used with the shared file pointer only
};

/// What makes nonblocking accesses progress between a rank's calls.
enum class Beside {
    nothing,  ///< only the program's calls (oratorio_progress=calls)
    helper,   ///< a thread that may not call the host MPI
    full,     ///< a thread that may call it
};

/// Where and how the program runs, apart from its own steps.
struct Setting {
    int ranks_per_node = 0;  ///< 0: all ranks are on one node
    int cores = 1;
    bool node_memory = true;  ///< collectives within a node use shared memory (NodeTransport)
    /// On several nodes, the inputs of planning are held once per node, in shared memory.
    bool node_lists = false;
    Beside beside = Beside::nothing;
    Pace pace = Pace::even;
    int switch_percent = 20;
    int late_percent = 20;
    Bytes prefill = 0;
    bool asynchronous = false;             ///< the store completes requests later
    ClientKind client = ClientKind::none;  ///< the file system client of each node
    /// Chance of short transfers, EINTR and EAGAIN, which the library must hide from the program.
    int trouble_percent = 0;
    Scarcity memory;
    Rank fault_rank = -1;
    /// A storage fault of `fault_rank`, which allows calls to report errors.
    Fault fault;
    /// Number of the first of its locks of the job (from 1) that `fault_rank` cannot get; 0: it
    /// gets all.
    int failing_lock = 0;
    /// This rank dies in the middle of a call; -1: none does.
    Rank dying = -1;
    /// The number of the lock (from 1) that the dying rank holds when it dies.
    int last_lock = 0;
};

struct Program {
    std::uint64_t seed = 0;
    std::uint64_t schedule = 0;  ///< seed of the order of events
    int ranks = 2;
    Setting setting;
    std::vector<Handle> handles;
    std::vector<Step> steps;

    /// Returns true if the setting contains a failure that a call may report as an error.
    [[nodiscard]] bool faulty() const {
        const Scarcity& memory = setting.memory;
        const bool large = memory.maps || setting.client != ClientKind::none;
        return setting.fault_rank >= 0 || memory.empty_step >= 0 || (memory.first > 0 && large);
    }
    [[nodiscard]] int accesses() const;
};

/// What generated programs may contain. By default some programs run over clients with caches, and
/// in some a rank runs out of threads or of memory for small allocations, which no call may report
/// as an error.
struct Features {
    bool faults = false;
    bool only_faults = false;
    bool scarce = false;   ///< allocations fail in all programs
    bool clients = false;  ///< all programs run over clients with caches
    /// All programs run over clients with caches, but every store takes the file for a local one.
    bool plain_clients = false;
    /// All programs run over clients of this kind.
    ClientKind client = ClientKind::none;
    std::string locks;         ///< "" or the hint oratorio_locks of every handle
    bool atomic = false;       ///< most accesses are atomic, and views overlap
    bool deaths = false;       ///< a rank dies while it holds a lock of the job
    bool fresh_views = false;  ///< a view is set before each collective access, so no plan is kept
    /// Every program has handles of some of the ranks, and they may be opened first.
    bool partial_handles = false;
    std::string method;     ///< "" or the method that every handle requests
    int ranks = 0;          ///< number of ranks of every program; 0: drawn at random
    bool routines = false;  ///< only calls for which MPI has a routine (there is no iwrite_ordered)
};

/// Returns the program of a seed.
Program make_program(std::uint64_t seed, const Features& features);

/// Returns the program as text that a person can read, one line per step.
std::string describe(const Program& program);
std::string describe(const Program& program, const Step& step);
const char* name_of(Kind kind);

}  // namespace oratorio::oracle
