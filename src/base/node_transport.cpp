// SPDX-License-Identifier: BSD-3-Clause
#include "base/node_transport.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/shared_outcome.hpp"
#include "base/shared_segment.hpp"

namespace oratorio {

/// What all ranks share alike.
struct alignas(64) NodeTransport::Head {
    std::atomic<std::int64_t> counter{0};
    SharedOutcome outcome;
};

/// One rank.
struct alignas(64) NodeTransport::Member {
    explicit Member(Before usual) : bell(usual) {}
    Bell bell;
    alignas(64) std::atomic<std::uint64_t> finished{0};  ///< operations it has read the results of
};

/// One operation; operation n uses board n modulo kBoards.
struct alignas(64) NodeTransport::Board {
    std::atomic<std::uint64_t> arrived{0};  ///< ranks, summed over all operations of this board
    std::atomic<std::uint64_t> acted{0};  ///< meetings: the operation's number + 1, when it is over
};

namespace {

constexpr std::int64_t kOurs = std::int64_t{1} << 62;  // ticket numbers from here on aren't inner's

}  // namespace

// Layout: the Head; a Member per rank; per board a Board and an operand per rank.
NodeTransport::Head& NodeTransport::head() const {
    return *reinterpret_cast<Head*>(memory_.span().data());
}

SharedOutcome* NodeTransport::shared_outcome() const {
    return &head().outcome;
}

NodeTransport::Member& NodeTransport::member(Rank rank) const {
    return reinterpret_cast<Member*>(memory_.span().data() + sizeof(Head))[rank];
}

NodeTransport::Board& NodeTransport::board(std::uint64_t number) const {
    const auto ranks = static_cast<std::size_t>(topology().size);
    const std::size_t bytes = sizeof(Board) + ranks * kOperandMax;
    return *reinterpret_cast<Board*>(memory_.span().data() + sizeof(Head) + ranks * sizeof(Member) +
                                     number % kBoards * bytes);
}

std::span<std::byte> NodeTransport::operand(const Board& board, Rank rank) const {
    auto* const first = reinterpret_cast<std::byte*>(const_cast<Board*>(&board + 1));
    return {first + static_cast<std::size_t>(rank) * kOperandMax, kOperandMax};
}

Result<std::unique_ptr<Transport>> NodeTransport::over(std::unique_ptr<Transport> inner) {
    const Topology& topology = inner->topology();
    if (!topology.one_node() || topology.size == 1) return inner;
    const auto ranks = static_cast<std::size_t>(topology.size);
    static_assert(kOperandMax % 64 == 0);
    const auto bytes = static_cast<Bytes>(sizeof(Head) + ranks * sizeof(Member) +
                                          kBoards * (sizeof(Board) + ranks * kOperandMax));
    const auto prepare = [&topology](std::span<std::byte> memory) { lay_out(memory, topology); };
    SharedSegment segment({bytes, {}, prepare, {}});
    if (const auto decided = segment.finish(*inner); !decided) return decided.error();
    if (segment.refused()) return inner;
    return std::unique_ptr<Transport>(new NodeTransport(std::move(inner), segment.take()));
}

void NodeTransport::lay_out(std::span<std::byte> memory, const Topology& topology) {
    const auto ranks = static_cast<std::size_t>(topology.size);
    const Before usual = usual_before_sleep(topology);
    const auto take = [&memory](std::size_t bytes) {
        std::byte* const at = memory.data();
        memory = memory.subspan(bytes);
        return at;
    };
    new (take(sizeof(Head))) Head;
    for (std::size_t rank = 0; rank < ranks; ++rank) new (take(sizeof(Member))) Member(usual);
    for (std::uint64_t number = 0; number < kBoards; ++number)
        new (take(sizeof(Board) + ranks * kOperandMax)) Board;
}

Ticket NodeTransport::start(Operation operation) {
    operation.number = wanted_ = started_++;
    operations_.push_back(operation);
    post_waiting();
    return Ticket{kOurs + static_cast<std::int64_t>(operation.number)};
}

Result<Ticket> NodeTransport::reduce(std::span<std::uint64_t> values, ReduceOp op) {
    if (values.size_bytes() > kOperandMax) return inner_->reduce(values, op);
    return start({.kind = Kind::reduce,
                  .op = op,
                  .mine = std::as_bytes(values),
                  .result = std::as_writable_bytes(values)});
}

Result<Ticket> NodeTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    if (mine.size() > kOperandMax) return inner_->gather(mine, all);
    return start({.kind = Kind::gather, .mine = mine, .result = all});
}

Result<Ticket> NodeTransport::broadcast(Rank root, std::span<std::byte> data) {
    if (data.size() > kOperandMax) return inner_->broadcast(root, data);
    return start({.kind = Kind::broadcast, .root = root, .mine = data, .result = data});
}

/// Puts this rank's operand on the board; false while some rank still reads what was there before.
bool NodeTransport::post(Operation& operation) {
    if (operation.number >= kBoards) {
        for (Rank rank = 0; rank < topology().size; ++rank) {
            if (member(rank).finished.load() <= operation.number - kBoards) return false;
        }
    }
    Board& board = this->board(operation.number);
    const auto to = operand(board, topology().rank);
    const bool mute = operation.kind == Kind::broadcast && operation.root != topology().rank;
    if (!mute && !operation.mine.empty())
        std::memcpy(to.data(), operation.mine.data(), operation.mine.size());
    operation.posted = true;
    const auto ranks = static_cast<std::uint64_t>(topology().size);
    const std::uint64_t all = (operation.number / kBoards + 1) * ranks;
    if (board.arrived.fetch_add(1) + 1 < all) return true;
    if (operation.kind == Kind::meet) {  // who comes last does it for all
        (*operation.act)(
            {operand(board, 0).data(), operation.mine.size(), kOperandMax, topology().size});
        board.acted = operation.number + 1;
    }
    for (Rank rank = 0; rank < topology().size; ++rank) {
        if (rank != topology().rank) ring(member(rank).bell);
    }
    return true;
}

/// In the order they were started, as all ranks started them.
void NodeTransport::post_waiting() {
    heard_ = member(topology().rank).bell.rings.load();
    for (Operation& operation : operations_) {
        if (!operation.posted && !post(operation)) break;
    }
}

bool NodeTransport::is_complete(const Operation& operation) const {
    const auto ranks = static_cast<std::uint64_t>(topology().size);
    const std::uint64_t all = (operation.number / kBoards + 1) * ranks;
    const Board& board = this->board(operation.number);
    if (!operation.posted || board.arrived.load() < all) return false;
    return operation.kind != Kind::meet || board.acted == operation.number + 1;
}

Result<Completion> NodeTransport::test(Ticket ticket) {
    if (ticket.id < kOurs) return inner_->test(ticket);
    post_waiting();
    const auto found =
        std::find_if(operations_.begin(), operations_.end(), [&](const Operation& operation) {
            return kOurs + static_cast<std::int64_t>(operation.number) == ticket.id;
        });
    if (found == operations_.end())
        return Error::make(ErrorKind::internal, "test of a ticket that names no operation");
    wanted_ = found->number;
    if (!is_complete(*found)) return Completion{};
    combine(*found, board(found->number));
    operations_.erase(found);
    finish();
    return Completion{.done = true};
}

/// Operations may end out of order; a board is free when all before it have ended, too.
void NodeTransport::finish() {
    std::uint64_t finished = started_;
    for (const Operation& other : operations_) finished = std::min(finished, other.number);
    member(topology().rank).finished.store(finished);
}

void NodeTransport::combine(const Operation& operation, const Board& board) {
    const std::size_t bytes = operation.mine.size();
    if (bytes == 0) return;
    if (operation.kind == Kind::broadcast || operation.kind == Kind::meet) {
        const Rank from = operation.kind == Kind::meet ? topology().rank : operation.root;
        std::memcpy(operation.result.data(), operand(board, from).data(), bytes);
        return;
    }
    if (operation.kind == Kind::gather) {
        for (Rank rank = 0; rank < topology().size; ++rank)
            std::memcpy(operation.result.data() + static_cast<std::size_t>(rank) * bytes,
                        operand(board, rank).data(), bytes);
        return;
    }
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
        std::uint64_t sum = 0;
        for (Rank rank = 0; rank < topology().size; ++rank) {
            std::uint64_t value = 0;
            std::memcpy(&value, operand(board, rank).data() + at, sizeof value);
            sum = rank == 0                       ? value
                  : operation.op == ReduceOp::sum ? sum + value
                  : operation.op == ReduceOp::max ? std::max(sum, value)
                                                  : std::min(sum, value);
        }
        std::memcpy(operation.result.data() + at, &sum, sizeof sum);
    }
}

Result<std::int64_t> NodeTransport::fetch_add(std::int64_t by) {
    return head().counter.fetch_add(by);
}

Result<void> NodeTransport::meet(std::span<std::byte> mine, const Act& act) {
    if (mine.size() > kOperandMax) return Transport::meet(mine, act);
    const auto done =
        wait(*this, start({.kind = Kind::meet, .mine = mine, .result = mine, .act = &act}));
    if (!done) return done.error();
    return {};
}

Result<void> NodeTransport::set_counter(std::int64_t to) {
    head().counter.store(to);
    return {};
}

/// Who comes last completes an operation, and nobody rings for that one.
bool NodeTransport::wanted_complete() const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& one) {
        return one.number == wanted_ && is_complete(one);
    });
}

Rest NodeTransport::rest() const {
    if (operations_.empty()) return inner_->rest();
    Bell& bell = member(topology().rank).bell;
    return {&bell, wanted_complete() ? bell.rings.load() - 1 : heard_};
}

}  // namespace oratorio
