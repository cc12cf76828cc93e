// SPDX-License-Identifier: BSD-3-Clause
// Parts: what methods are made of. A part is a record of facts that never change. Each kind of part
// has one complete table here, and nobody else asks which one a part is, but for the tables of
// makers on the floors above (exchange/exchange.cpp, run/work.cpp). A new part is a new value of
// its enum and a row in those tables.
#pragma once

#include <string_view>

#include "plan/domains.hpp"
#include "plan/situation.hpp"

namespace oratorio {

struct Method;

/// How a rank's pieces are described to whoever moves them.
enum class RequestKind {
    cursor,  ///< datatype iterators give them as rounds need them
    list,    ///< all are listed before the first byte moves
    layout,  ///< the datatypes themselves, as bytes
    count,
};

struct RequestPart {
    RequestKind kind;
    std::string_view what;   ///< as `explain` tells it
    bool flattens = false;   ///< memory grows with the number of pieces
    bool is_layout = false;  ///< others walk it
    /// "" when it applies, else the reason why not.
    std::string_view (*refuses)(const Situation& situation) = nullptr;
    /// Estimated nanoseconds that it adds to an access.
    double (*estimate)(const Situation& situation) = nullptr;
};

/// Which aggregator owns which bytes of the file.
enum class DomainsKind {
    even,
    sliced,   ///< even, and a slice of every part where the data is parts that interleave in memory
    cyclic,   ///< blocks of oratorio_cyclic_block bytes in turn
    stripes,  ///< the same with the blocks of the file system
    count,
};

struct DomainsPart {
    DomainsKind kind;
    FileDomains (*make)(const Situation& situation, int aggregators);
    bool sliced = false;  ///< it has a slice of every part of the data, where there are parts
    /// Bytes that lie together in a domain; INT64_MAX where only buffers cut it.
    Bytes (*block)(const PlanOptions& options);
};

/// Who exchanges data with whom.
enum class GraphKind {
    dense,   ///< an aggregator and all ranks whose hulls touch its region
    sparse,  ///< those that really have data there, found out by one global pass
    count,
};

struct GraphPart {
    GraphKind kind;
    bool is_thinned = false;  ///< ranks tell each other their edges (plan/edges)
    /// Estimated nanoseconds that it adds to an access.
    double (*estimate)(const Situation& situation) = nullptr;
};

/// How data gets into collective buffers and back.
enum class ExchangeKind {
    none,          ///< each rank moves its own data
    peer,          ///< messages
    gathered,      ///< messages straight between the ranks' memory and the buffers
    shared,        ///< the ranks of a node map the buffers; each copies its own data
    cross_memory,  ///< aggregators reach into the other ranks' memory
    count,
};

struct ExchangePart {
    ExchangeKind kind;
    std::string_view what = {};   ///< as `explain` tells it; "" where it tells of messages
    bool aggregated = true;       ///< has aggregators
    bool on_node = false;         ///< works in memory that a node shares
    bool sends_messages = false;  ///< talks through the host MPI between rounds
    bool in_pieces = false;       ///< data isn't packed in messages
    bool reaches = false;         ///< needs the memory of other processes
    bool anyone_loads = false;    ///< a round may be loaded by a rank that isn't its aggregator
    /// "" when it applies, else the reason why not.
    std::string_view (*refuses)(const Situation& situation) = nullptr;
    /// Estimated nanoseconds of an access with it; null without exchange.
    double (*estimate)(const Method& method, const Situation& situation) = nullptr;
};

/// Who talks to the aggregators.
enum class LayersKind {
    one,           ///< each rank for itself
    two_messages,  ///< local aggregators, which get their group's data by messages
    two_shared,    ///< the same; where it is dense, by memory of the node
    count,
};

struct LayersPart {
    LayersKind kind;
    std::string_view what = {};  ///< as `explain` tells it; "" where there is nothing to tell
    bool local_aggregators = false;
    bool windows = false;  ///< in memory of the node, for dense data
};

/// How bytes get to and from the storage.
enum class StorageKind {
    contiguous,  ///< each piece by itself, one call after the other
    list,  ///< many pieces outstanding at once, straight from and to the user's memory where it is
           ///< coarse
    buffered,  ///< whole regions through a collective (or sieving) buffer
    mapped,    ///< the file is mapped, and each piece copied between memory and the mapping
    shipped,   ///< agents move the pieces that lie in their blocks of the file
    count,
};

struct StoragePart {
    StorageKind kind;
    std::string_view name;       ///< as `explain` tells it
    bool buffered = false;       ///< whole regions, holes and all
    bool mapped = false;         ///< through the page cache's own pages
    bool shipped = false;        ///< others make the storage calls, wherever their node is
    bool extends_first = false;  ///< a collective write makes the file long before its first store
    int outstanding_max = 0;     ///< pieces outstanding at once
    Bytes unit = 0;              ///< what a rank alone moves begins at multiples of it
    /// What a rank alone moves at a time.
    Bytes (*window)(Direction direction, const PlanOptions& options) = nullptr;
    /// As for exchanges; of an access without one.
    std::string_view (*refuses)(const Situation& situation) = nullptr;
    double (*estimate)(const Situation& situation) = nullptr;
};

/// Whether the storage is told what comes next.
enum class ReadAheadKind {
    none,
    ranges,  ///< one per file block, a few ahead of the access
    count,
};

struct ReadAheadPart {
    ReadAheadKind kind;
    bool fetches = false;  ///< ranges of the file, before they are accessed
    /// As for exchanges.
    std::string_view (*refuses)(const Situation& situation) = nullptr;
    /// Estimated nanoseconds that it adds to an access.
    double (*estimate)(const Situation& situation) = nullptr;
};

/// Data can be found by its offset.
[[nodiscard]] bool is_monotonic(const Situation& situation);
/// Ranks can work for one another.
[[nodiscard]] bool can_exchange(const Situation& situation);
/// And all of them through memory that they share.
[[nodiscard]] bool node_is_shared(const Situation& situation);

[[nodiscard]] const RequestPart& part_of(RequestKind kind);
[[nodiscard]] const DomainsPart& part_of(DomainsKind kind);
[[nodiscard]] const GraphPart& part_of(GraphKind kind);
[[nodiscard]] const ExchangePart& part_of(ExchangeKind kind);
[[nodiscard]] const LayersPart& part_of(LayersKind kind);
[[nodiscard]] const StoragePart& part_of(StorageKind kind);
[[nodiscard]] const ReadAheadPart& part_of(ReadAheadKind kind);

}  // namespace oratorio
