// SPDX-License-Identifier: BSD-3-Clause
#include "comm/node_transport.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/rank_order.hpp"
#include "comm/shared_segment.hpp"

namespace oratorio {

namespace {

// The smallest number of this transport's own tickets. Smaller numbers are the inner transport's.
constexpr std::int64_t kOurs = std::int64_t{1} << 62;
constexpr std::size_t kOperandMax = NodeBoards::kOperandMax;
constexpr std::uint64_t kBoards = NodeBoards::kBoards;

struct Shared {
    NodePlace place;
    SharedMemory memory;  ///< empty if the memory was refused
};

/// Collective. Makes the shared memory, with a list of `list_bytes` in it. Tries again without the
/// list if the memory is refused.
Result<Shared> share(Transport& transport, const Agreed<std::size_t>& list_bytes) {
    const Topology& topology = transport.topology();
    const NodePlace place(topology, list_bytes);
    const auto prepare = [&](std::span<std::byte> memory) {
        NodeBoards::lay_out(memory, topology, place);
    };
    SharedSegment segment({NodeBoards::bytes(place), {}, prepare, {}});
    if (const auto decided = segment.finish(transport); !decided) return decided.error();
    if (segment.refused() && *list_bytes > 0)
        return share(transport, agreed_from([] { return std::size_t{0}; }));
    return Shared{place, segment.take()};
}

}  // namespace

Result<std::unique_ptr<Transport>> NodeTransport::over(std::unique_ptr<Transport> inner,
                                                       const OpenLeaders& open_leaders,
                                                       const Agreed<std::size_t>& listed_from) {
    const Topology& topology = inner->topology();
    if (topology.node_of.most() == 1 || (!topology.one_node() && !open_leaders)) return inner;
    auto shared = share(*inner, NodeBoards::list_bytes(nodes_of(*inner), listed_from));
    if (!shared) return shared.error();
    if (shared->memory.span().empty()) return inner;
    std::unique_ptr<Transport> leaders;
    if (!topology.one_node()) {
        auto opened = open_leaders();
        std::uint64_t refused = opened.ok() ? 0 : 1;
        if (auto told = oratorio::reduce(*inner, std::span(&refused, 1), ReduceOp::max); !told)
            return told.error();
        if (refused != 0) return inner;
        leaders = std::move(*opened);
    }
    return std::unique_ptr<Transport>(
        new NodeTransport(std::move(inner), NodeBoards(std::move(shared->memory), shared->place),
                          std::move(leaders)));
}

SharedFlushStatus* NodeTransport::flush_status() const {
    return in_memory() ? &boards_.head().outcome : nullptr;
}

bool NodeTransport::quiet() const {
    const bool led = leaders_ == nullptr || (lost_ == ErrorKind::none && leaders_->quiet());
    return operations_.empty() && inner_->quiet() && led;
}

Ticket NodeTransport::start(Operation operation) {
    operation.number = wanted_ = started_++;
    wants_message_ = false;
    operations_.push_back(operation);
    post_waiting();
    go_across();
    return Ticket{kOurs + static_cast<std::int64_t>(operation.number)};
}

Result<Ticket> NodeTransport::reduce(std::span<std::uint64_t> values, ReduceOp op) {
    if (is_lost() || values.size_bytes() > kOperandMax) return inner_->reduce(values, op);
    return start({.kind = Kind::reduce,
                  .op = op,
                  .mine = std::as_bytes(values),
                  .result = std::as_writable_bytes(values)});
}

Result<Ticket> NodeTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    const bool listed = place().list > 0 && all.data() == boards_.list().data();
    const bool fits =
        in_memory() || boards_.gathered(mine.size()) <= boards_.result(boards_.board(0)).size();
    if (is_lost() || (!listed && (mine.size() > kOperandMax || !fits)))
        return inner_->gather(mine, all);
    return start({.kind = listed ? Kind::list : Kind::gather, .mine = mine, .result = all});
}

std::span<std::byte> NodeTransport::list(std::size_t bytes) const {
    const std::size_t block = bytes / static_cast<std::size_t>(topology().size);
    const std::span<std::byte> list = boards_.list();
    const bool fits = block <= kOperandMax && boards_.gathered(block) <= list.size();
    return fits && !list.empty() ? list.first(bytes) : std::span<std::byte>();
}

Result<Ticket> NodeTransport::broadcast(Rank root, std::span<std::byte> data) {
    if (is_lost() || data.size() > kOperandMax) return inner_->broadcast(root, data);
    return start({.kind = Kind::broadcast, .root = root, .mine = data, .result = data});
}

void NodeTransport::ring_others() const {
    for (std::size_t other = 0; other < place().ranks; ++other) {
        if (other != place().me) ring(boards_.member(other).doorbell);
    }
}

/// Copies this rank's operand to the operation's board. Returns false while some rank has not
/// finished the previous operation on that board. On one node, the last rank to post also performs
/// the action of a rendezvous.
bool NodeTransport::post(Operation& operation) {
    if (operation.number >= kBoards) {
        for (std::size_t rank = 0; rank < place().ranks; ++rank) {
            if (boards_.member(rank).finished.load() <= operation.number - kBoards) return false;
        }
    }
    Board& board = boards_.board(operation.number);
    const auto to = boards_.operand(board, place().me);
    const bool mute = operation.kind == Kind::broadcast && operation.root != topology().rank;
    if (!mute && !operation.mine.empty())
        std::memcpy(to.data(), operation.mine.data(), operation.mine.size());
    operation.posted = true;
    const std::uint64_t all = (operation.number / kBoards + 1) * place().ranks;
    if (board.arrived.fetch_add(1) + 1 < all) return true;
    if (place().several_nodes()) {  // the node's first rank continues with the other nodes
        if (!place().leads()) ring(boards_.member(0).doorbell);
        return true;
    }
    if (operation.kind == Kind::rendezvous) {  // the last rank to arrive acts for all
        (*operation.action)({boards_.operand(board, 0).data(), operation.mine.size(), kOperandMax,
                             topology().size});
        board.acted = operation.number + 1;
    }
    ring_others();
    return true;
}

/// Posts operations in the order in which they were started, which is the same on all ranks.
void NodeTransport::post_waiting() {
    heard_ = boards_.member(place().me).doorbell.rings.load();
    for (Operation& operation : operations_) {
        if (!operation.posted && !post(operation)) break;
    }
}

bool NodeTransport::all_here(const Operation& operation) const {
    const std::uint64_t all = (operation.number / kBoards + 1) * place().ranks;
    return operation.posted && boards_.board(operation.number).arrived.load() >= all;
}

/// Returns true if an action must follow the arrival of the last operand: that of a rendezvous, or
/// the exchange with other nodes.
bool NodeTransport::is_acted(const Operation& operation) const {
    return operation.kind == Kind::rendezvous || place().several_nodes();
}

bool NodeTransport::is_complete(const Operation& operation) const {
    if (!all_here(operation)) return false;
    return !is_acted(operation) || boards_.board(operation.number).acted == operation.number + 1;
}

Result<Completion> NodeTransport::test(Ticket ticket) {
    post_waiting();
    go_across();
    wants_message_ = ticket.id < kOurs;
    if (wants_message_) return inner_->test(ticket);
    const auto found =
        std::find_if(operations_.begin(), operations_.end(), [&](const Operation& operation) {
            return kOurs + static_cast<std::int64_t>(operation.number) == ticket.id;
        });
    if (found == operations_.end())
        return Error::make(ErrorKind::internal, "test of a ticket without an operation");
    wanted_ = found->number;
    if (!is_complete(*found)) {
        // A rank that has not arrived may have given up.
        const Error& lost = inner_->lost();
        return lost.kind == ErrorKind::none ? Result<Completion>(Completion{}) : lost;
    }
    const Board& board = boards_.board(found->number);
    const ErrorKind failed = is_acted(*found) ? board.failed.load() : ErrorKind::none;
    if (failed == ErrorKind::none) combine(*found, board);
    operations_.erase(found);
    finish();
    if (failed != ErrorKind::none)
        return Error::make(failed, "messages between the first ranks of the nodes fail");
    return Completion{.done = true};
}

/// Publishes how many operations this rank has finished. Operations may end out of order; a board
/// can be reused only when its operation and all earlier ones have ended.
void NodeTransport::finish() {
    std::uint64_t finished = started_;
    for (const Operation& other : operations_) finished = std::min(finished, other.number);
    boards_.member(place().me).finished.store(finished);
}

void NodeTransport::combine(const Operation& operation, const Board& board) {
    const std::size_t bytes = operation.mine.size();
    if (bytes == 0) return;
    const bool here = !place().several_nodes();
    const std::byte* const result = boards_.result(board).data();
    switch (operation.kind) {
        case Kind::rendezvous:
            std::memcpy(operation.result.data(), boards_.operand(board, place().me).data(), bytes);
            return;
        case Kind::broadcast: {
            const auto root = topology().slot(operation.root).place;
            std::memcpy(
                operation.result.data(),
                here ? boards_.operand(board, static_cast<std::size_t>(root)).data() : result,
                bytes);
            return;
        }
        case Kind::gather: {
            std::byte* to = operation.result.data();
            topology().each([&](Rank, NodeSlot slot) {
                const auto at = static_cast<std::size_t>(slot.place);
                const std::size_t before = static_cast<std::size_t>(slot.node) * place().most;
                const auto* const from =
                    here ? boards_.operand(board, at).data() : result + (before + at) * bytes;
                std::memcpy(std::exchange(to, to + bytes), from, bytes);
            });
            return;
        }
        case Kind::list:
            return;  // the exchange between nodes has put the result in place
        case Kind::reduce:
            if (here) return reduce_here(operation, board, operation.result);
            std::memcpy(operation.result.data(), result, bytes);
            return;
    }
}

void NodeTransport::reduce_here(const Operation& operation, const Board& board,
                                std::span<std::byte> into) const {
    for (std::size_t at = 0; at < operation.mine.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t sum = 0;
        for (std::size_t rank = 0; rank < place().ranks; ++rank) {
            std::uint64_t value = 0;
            std::memcpy(&value, boards_.operand(board, rank).data() + at, sizeof value);
            sum = rank == 0                       ? value
                  : operation.op == ReduceOp::sum ? sum + value
                  : operation.op == ReduceOp::max ? std::max(sum, value)
                                                  : std::min(sum, value);
        }
        std::memcpy(into.data() + at, &sum, sizeof sum);
    }
}

/// On the node's first rank, starts and tests the exchanges of this node's operations with other
/// nodes, whatever operation this rank itself waits for. All first ranks start operations in the
/// same order.
void NodeTransport::go_across() {
    if (leaders_ == nullptr) return;
    for (Operation& operation : operations_) {
        if (is_complete(operation)) continue;
        if (!all_here(operation)) return;
        if (!operation.across.valid()) {
            begin_across(operation);
            if (!operation.across.valid()) continue;
        }
        const auto done = leaders_->test(operation.across);
        if (done && !done->done) continue;
        if (done && operation.kind == Kind::list)
            put_in_rank_order(boards_.list(), operation.mine.size(), topology());
        end_across(operation, done ? ErrorKind::none : done.error().kind);
    }
}

/// Starts an operation's exchange with the other nodes. After a failure this rank starts no more
/// exchanges, because the other nodes would mistake the next exchange for the failed one.
void NodeTransport::begin_across(Operation& operation) {
    if (lost_ == ErrorKind::none) {
        const auto started = start_across(operation);
        if (started) operation.across = *started;
        if (!started) lost_ = started.error().kind;
    }
    if (lost_ != ErrorKind::none) end_across(operation, lost_);
}

Result<Ticket> NodeTransport::start_across(const Operation& operation) {
    const Board& board = boards_.board(operation.number);
    const std::size_t bytes = operation.mine.size();
    const auto result = boards_.result(board);
    if (operation.kind == Kind::reduce) {
        reduce_here(operation, board, result);
        return leaders_->reduce(
            {reinterpret_cast<std::uint64_t*>(result.data()), bytes / sizeof(std::uint64_t)},
            operation.op);
    }
    if (operation.kind == Kind::broadcast) {
        const NodeSlot root = topology().slot(operation.root);
        const auto at = static_cast<std::size_t>(root.place);
        if (are_beside(topology(), operation.root, topology().rank) && bytes > 0)
            std::memcpy(result.data(), boards_.operand(board, at).data(), bytes);
        return leaders_->broadcast(static_cast<Rank>(root.node), result.first(bytes));
    }
    return start_gather(operation, board);
}

Result<Ticket> NodeTransport::start_gather(const Operation& operation, const Board& board) {
    const std::size_t bytes = operation.mine.size();
    const auto outgoing = boards_.outgoing(board).first(place().most * bytes);
    for (std::size_t rank = 0; rank < place().ranks && bytes > 0; ++rank)
        std::memcpy(&outgoing[rank * bytes], boards_.operand(board, rank).data(), bytes);
    const auto result = operation.kind == Kind::list ? boards_.list() : boards_.result(board);
    return leaders_->gather(outgoing, result.first(boards_.gathered(bytes)));
}

void NodeTransport::end_across(const Operation& operation, ErrorKind failed) {
    Board& board = boards_.board(operation.number);
    board.failed = failed;
    board.acted = operation.number + 1;
    ring_others();
}

/// Returns true if this rank takes part in an unfinished exchange with other nodes. The end of such
/// an exchange doesn't ring this rank's doorbell.
bool NodeTransport::is_across() const {
    return std::ranges::any_of(
        operations_, [&](const Operation& one) { return one.across.valid() && !is_complete(one); });
}

Result<void> NodeTransport::rendezvous(std::span<std::byte> mine, const RendezvousAction& action) {
    const auto done = wait(
        *this, start({.kind = Kind::rendezvous, .mine = mine, .result = mine, .action = &action}));
    if (!done) return done.error();
    return {};
}

/// Returns true if the operation started or tested last is complete. The rank that arrives last and
/// so completes the operation must check, because nobody rings its doorbell.
bool NodeTransport::wanted_complete() const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& one) {
        return one.number == wanted_ && is_complete(one);
    });
}

WaitHint NodeTransport::wait_hint() const {
    if (operations_.empty() || (place().several_nodes() && wants_message_))
        return inner_->wait_hint();
    if (is_across()) return leaders_->wait_hint();
    Doorbell& doorbell = boards_.member(place().me).doorbell;
    return {&doorbell, wanted_complete() ? doorbell.rings.load() - 1 : heard_};
}

void NodeTransport::idle(const WaitHint& wait_hint) {
    go_across();
    if (!is_across()) return inner_->idle(wait_hint);
    leaders_->idle({});
    // The first rank of another node may never arrive, if a rank of that node has failed. Only the
    // inner transport learns of such a failure.
    constexpr unsigned kSeldom = 16;
    if (++idles_across_ % kSeldom == 0) inner_->idle({});
}

}  // namespace oratorio
