// SPDX-License-Identifier: BSD-3-Clause
// Parts: the building blocks of methods. A part is a record of facts that never change; parts.cpp
// has a complete table for each kind of part. The library asks for the facts of a method's parts,
// and not which parts these are (dev/tidy.py checks that). Exceptions are the code that chooses
// file domains (methods.cpp) and the tables of factories (exchange/exchange.cpp, engine/work.cpp).
// A new part needs a value of its enum, a row in parts.cpp, a name in cli/describe/description.cpp,
// and, if it is an exchange or a storage part, a row in its table of factories.
#pragma once

#include <string_view>

#include "plan/domains.hpp"
#include "plan/plan_inputs.hpp"

namespace oratorio {

struct Method;

/// How a rank's pieces are described to the code or rank that moves them.
enum class RequestKind {
    cursor,  ///< datatype iterators return them as rounds need them
    list,    ///< all pieces are listed before the first byte moves
    layout,  ///< the datatypes themselves, as bytes
    count,
};

struct RequestPart {
    RequestKind kind;
    std::string_view what;   ///< text in `explain`
    bool flattens = false;   ///< memory grows with the number of pieces
    bool is_layout = false;  ///< other ranks walk the rank's layouts
    /// Returns "" if the part applies, else the reason why it doesn't.
    std::string_view (*refuses)(const PlanInputs& inputs) = nullptr;
    /// Returns the nanoseconds that the part adds to an access.
    double (*estimate)(const PlanInputs& inputs) = nullptr;
};

/// Which aggregator owns which bytes of the file.
enum class DomainsKind {
    even,
    block,    ///< even, but cut at any byte (HPF BLOCK)
    sliced,   ///< the data's parts (variables, say) each divided evenly, if they interleave in
              ///< memory; otherwise as `even`
    cyclic,   ///< blocks of oratorio_cyclic_block bytes in turn
    chunks,   ///< blocks of one collective buffer's data, dealt to the aggregators in turn; same as
              ///< `even` if each aggregator's share fits in one buffer
    stripes,  ///< stripes of the file system by their number in the file
    bound,    ///< the blocks that are bound to each agent of data shipping
    count,
};

struct DomainsPart {
    DomainsKind kind;
    FileDomains (*make)(const PlanInputs& inputs, int aggregators);
    bool sliced = false;     ///< a domain has a slice of every part of the data
    bool by_target = false;  ///< each storage target has one aggregator
    bool by_agent = false;   ///< the agents of data shipping are the aggregators
    /// Returns the block size of a domain in bytes; INT64_MAX if it isn't divided into blocks.
    Bytes (*block)(const PlanInputs& inputs);
    /// Returns "" if the part applies, else the reason why it doesn't.
    std::string_view (*refuses)(const PlanInputs& inputs);
};

/// Which ranks exchange data with which aggregators.
enum class GraphKind {
    dense,   ///< all ranks whose hulls touch the aggregator's region
    sparse,  ///< only ranks that really have data there, found by one global pass
    count,
};

struct GraphPart {
    GraphKind kind;
    bool is_thinned = false;  ///< ranks report their edges to each other (plan/edges)
    /// Returns the nanoseconds that the part adds to an access.
    double (*estimate)(const PlanInputs& inputs) = nullptr;
};

/// How data gets into collective buffers and back.
enum class ExchangeKind {
    none,          ///< each rank moves its own data
    peer,          ///< packed messages
    gathered,      ///< zero-copy messages between the ranks' memory and the buffers
    shared,        ///< the ranks of a node map the buffers; each copies its own data
    cross_memory,  ///< aggregators access the other ranks' memory
    count,
};

struct ExchangePart {
    ExchangeKind kind;
    std::string_view what = {};   ///< text in `explain`; "" if there is nothing to print
    bool aggregated = true;       ///< aggregators make the storage calls
    bool on_node = false;         ///< works in memory that a node shares
    bool sends_messages = false;  ///< data goes through messages of the host MPI
    bool in_pieces = false;       ///< data isn't packed in messages
    bool reaches = false;         ///< needs access to the memory of other processes
    bool anyone_loads = false;    ///< ranks other than a round's aggregator may load it
    /// Returns "" if the part applies, else the reason why it doesn't.
    std::string_view (*refuses)(const PlanInputs& inputs) = nullptr;
    /// Returns the estimated nanoseconds of an access with this exchange. Null without exchange.
    double (*estimate)(const Method& method, const PlanInputs& inputs) = nullptr;
};

/// Which ranks exchange messages with the aggregators.
enum class LayersKind {
    one,           ///< each rank exchanges with the aggregators itself
    two_messages,  ///< local aggregators, which exchange messages with their groups' ranks
    two_shared,    ///< local aggregators; dense data goes through the node's shared memory
    count,
};

struct LayersPart {
    LayersKind kind;
    std::string_view what = {};  ///< text in `explain`; "" if there is nothing to print
    bool local_aggregators = false;
    bool windows = false;  ///< dense data goes through the node's shared memory
};

/// How bytes get to and from the storage.
enum class StorageKind {
    contiguous,  ///< one piece per call, one call after the other
    list,  ///< list I/O: many pieces outstanding at once, without a copy if memory pieces are large
    buffered,  ///< whole regions through a collective buffer or a sieving buffer (data sieving)
    mapped,    ///< the file is mapped, and pieces are copied between memory and the mapping
    shipped,   ///< data shipping: agents move the pieces that lie in their blocks of the file
    count,
};

struct StoragePart {
    StorageKind kind;
    std::string_view name;       ///< text in `explain`
    bool buffered = false;       ///< moves whole regions, including holes
    bool mapped = false;         ///< uses the page cache's own pages
    bool shipped = false;        ///< other ranks, on any node, make the storage calls
    bool extends_first = false;  ///< a collective write first makes the file long enough
    int outstanding_max = 0;     ///< pieces outstanding at once; 0: it doesn't move single pieces
    Bytes unit = 0;  ///< a rank that works alone begins its windows at multiples of this unit
    /// Returns the bytes that a rank working alone moves at a time.
    Bytes (*window)(Direction direction, const PlanOptions& options) = nullptr;
    /// `refuses` and `estimate` mean the same as in ExchangePart, for an access without exchange.
    std::string_view (*refuses)(const PlanInputs& inputs) = nullptr;
    double (*estimate)(const PlanInputs& inputs) = nullptr;
};

/// Whether ranges are announced to the storage before they are accessed.
enum class ReadAheadKind {
    none,
    ranges,  ///< one range per file block, a few blocks ahead of the access
    count,
};

struct ReadAheadPart {
    ReadAheadKind kind;
    bool fetches = false;  ///< fetches ranges of the file before they are accessed
    /// Returns "" if the part applies, else the reason why it doesn't.
    std::string_view (*refuses)(const PlanInputs& inputs) = nullptr;
    /// Returns the nanoseconds that the part adds to an access.
    double (*estimate)(const PlanInputs& inputs) = nullptr;
};

/// Returns true if data can be found by its file offset.
[[nodiscard]] bool is_monotonic(const PlanInputs& inputs);
/// Returns true if ranks can exchange data through aggregators.
[[nodiscard]] bool can_exchange(const PlanInputs& inputs);
/// Returns true if all ranks can exchange data through shared memory.
[[nodiscard]] bool node_is_shared(const PlanInputs& inputs);

[[nodiscard]] const RequestPart& part_of(RequestKind kind);
[[nodiscard]] const DomainsPart& part_of(DomainsKind kind);
[[nodiscard]] const GraphPart& part_of(GraphKind kind);
[[nodiscard]] const ExchangePart& part_of(ExchangeKind kind);
[[nodiscard]] const LayersPart& part_of(LayersKind kind);
[[nodiscard]] const StoragePart& part_of(StorageKind kind);
[[nodiscard]] const ReadAheadPart& part_of(ReadAheadKind kind);

}  // namespace oratorio
