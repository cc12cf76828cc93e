// SPDX-License-Identifier: BSD-3-Clause
// Data shipping, the client's side: the rank sends requests of bounded length to the agents that
// own its blocks of the file. In writes the requests carry the data, in reads the replies do. No
// other rank's program takes part.
#include <algorithm>
#include <array>
#include <vector>

#include "data_shipping/agents.hpp"
#include "engine/work.hpp"
#include "plan/methods.hpp"
#include "type/copy.hpp"
#include "type/run_table.hpp"
#include "type/shape_codec.hpp"

namespace oratorio {

namespace {

/// Returns the room for a request's description, a quarter of the request: about what a run table
/// of small pieces takes.
Bytes description_max(Bytes shipment_max) {
    return shipment_max / 4;
}

class ShippedWork final : public Work {
  public:
    ShippedWork(const WorkContext& context, const Plan& plan, const Access& access,
                std::span<std::byte> memory)
        : context_(context),
          plan_(plan),
          access_(access),
          agents_(*context.file.agents),
          memory_(access.memory) {
        const Binding& binding = agents_.binding();
        const BoundRuns::Range all{access.from, access.from + access.bytes()};
        for (int agent = 0; agent < binding.agents; ++agent)
            rest_.push_back({agent, BoundRuns(access.file, all, binding, agent)});
        // Ranks that begin at the same time are spread over the agents.
        const auto first = context.file.transport.topology().rank % binding.agents;
        std::ranges::rotate(rest_, rest_.begin() + first);
        const auto bytes = static_cast<std::size_t>(agents_.shipment_max());
        for (std::size_t at = 0; at + bytes <= memory.size(); at += bytes)
            requests_.push_back({.memory = memory.subspan(at, bytes)});
        const bool short_enough =
            encoded_bytes(access.file) <= description_max(agents_.shipment_max());
        if (plan.method->request_part().is_layout && short_enough) encode(access.file, layout_);
    }

    Result<Step> step() override {
        if (done()) return Step::idle;
        RangeLock held = share();
        for (Request& request : requests_) {
            if (noted_.kind == ErrorKind::none) ship_next(request);
        }
        take_replies();
        if (const auto unlocked = held.give_back(); !unlocked) note(unlocked.error());
        return Step::progressed;
    }
    [[nodiscard]] bool done() const override {
        return rest_.empty() || noted_.kind != ErrorKind::none;
    }
    [[nodiscard]] const Error& noted() const override { return noted_; }
    [[nodiscard]] Bytes moved() const override { return moved_; }

  private:
    /// The part of the access that is bound to one agent and not shipped yet.
    struct Rest {
        int agent = 0;
        BoundRuns runs;
    };
    struct Request {
        std::span<std::byte> memory;
        Shipment shipment = {};
        /// Range of the access's data; the request covers the agent's part of it.
        BoundRuns::Range range = {};
    };

    [[nodiscard]] RangeLock share();
    void ship_next(Request& request);
    [[nodiscard]] bool pack(Request& request, Rest& rest);
    void take_replies();
    void take(const Request& request, const ReplyHead& reply);
    void unpack(const Request& request, const ReplyHead& reply);
    void copy_out(Bytes data, std::span<const std::byte> from);
    void note(const Error& error) {
        if (noted_.kind == ErrorKind::none)
            noted_ = error.on(context_.file.transport.topology().rank);
    }

    WorkContext context_;
    const Plan& plan_;
    const Access& access_;
    Agents& agents_;
    Cursor memory_;
    std::vector<Rest> rest_;  ///< agents with data left, served in turn
    std::size_t turn_ = 0;
    std::vector<Request> requests_;
    /// The file layout, encoded. Empty: requests list their pieces.
    std::vector<std::byte> layout_;
    Bytes moved_ = 0;
    Error noted_;
};

/// Takes the shared lock for a write. This rank holds the lock, although agents do the writing.
RangeLock ShippedWork::share() {
    if (plan_.direction == Direction::read || plan_.atomic) return {};
    auto shared = context_.file.lock_policy.share(context_.store, plan_.hull, plan_.collective);
    if (shared) return std::move(*shared);
    note(shared.error());
    return {};
}

/// Ships the next request to the next agent in turn.
void ShippedWork::ship_next(Request& request) {
    while (!rest_.empty()) {
        turn_ %= rest_.size();
        if (pack(request, rest_[turn_])) break;
        rest_.erase(rest_.begin() + static_cast<std::ptrdiff_t>(turn_));
    }
    if (rest_.empty()) return;
    ++turn_;
    request.shipment.head.number = static_cast<std::uint64_t>(&request - requests_.data());
    context_.file.stats.requests_shipped += 1;
    context_.file.stats.request_bytes +=
        sizeof(RequestHead) + request.shipment.description.size() + request.shipment.data.size();
    if (agents_.ship(request.shipment)) context_.file.stats.requests_shared += 1;
}

/// Packs a request. Returns false if nothing is left for that agent.
bool ShippedWork::pack(Request& request, Rest& rest) {
    const Timing timing(&context_.file.stats, &Stats::copy_time);
    const bool writes = plan_.direction == Direction::write;
    const auto room = static_cast<std::size_t>(description_max(agents_.shipment_max()));
    const auto data = request.memory.subspan(room);
    RunTableWriter table(request.memory.first(room), 0);
    std::size_t packed = 0;
    while (packed < data.size() && table.has_room()) {
        const BoundRun next = rest.runs.next(static_cast<Bytes>(data.size() - packed));
        if (next.run.count == 0) break;
        const auto bytes = static_cast<std::size_t>(next.run.bytes());
        if (packed == 0) request.range.from = next.first;
        request.range.to = next.first + next.run.bytes();
        if (layout_.empty()) table.add(next.run);
        if (writes) {
            const Bytes position = next.first - access_.from;
            if (memory_.tell_size() != position) memory_.seek_size(position);
            gather_bytes(memory_, access_.buffer, data.subspan(packed, bytes));
        }
        packed += bytes;
    }
    if (writes) context_.file.stats.bytes_packed += packed;
    Shipment& shipment = request.shipment;
    // The layout is copied next to the data, so that shared memory holds the whole request.
    std::ranges::copy(layout_, request.memory.begin());
    shipment.agent = rest.agent;
    shipment.description = request.memory.first(layout_.empty() ? table.bytes() : layout_.size());
    shipment.data = data.first(packed);
    shipment.head = {.description = layout_.empty() ? Description::list : Description::layout,
                     .writes = writes ? 1U : 0U,
                     .from = request.range.from,
                     .to = request.range.to,
                     .described = shipment.description.size(),
                     .data = packed};
    return packed > 0;
}

/// Receives the replies to all requests, so that none is outstanding when this rank enters another
/// access.
void ShippedWork::take_replies() {
    std::array<ReplyHead, 8> replies;
    for (;;) {
        std::size_t count = 0;
        {
            const Timing timing(&context_.file.stats, &Stats::storage_time);
            count = agents_.reap(replies);
        }
        if (count == 0) return;
        for (const ReplyHead& reply : std::span(replies).first(count))
            take(requests_[reply.number], reply);
    }
}

void ShippedWork::take(const Request& request, const ReplyHead& reply) {
    const bool writes = plan_.direction == Direction::write;
    context_.file.stats.storage_calls += reply.calls;
    (writes ? context_.file.stats.bytes_stored : context_.file.stats.bytes_loaded) += reply.storage;
    context_.file.stats.request_bytes += sizeof(ReplyHead);
    if (reply.error.kind != ErrorKind::none) note(reply.error);
    if (writes) moved_ += reply.moved;
    if (!writes && reply.error.kind == ErrorKind::none) unpack(request, reply);
}

/// Copies a reply's data to the user's memory, up to the end of the file.
void ShippedWork::unpack(const Request& request, const ReplyHead& reply) {
    const Timing timing(&context_.file.stats, &Stats::copy_time);
    std::span<const std::byte> data = request.shipment.data;
    BoundRuns runs(access_.file, request.range, agents_.binding(), request.shipment.agent);
    while (!data.empty()) {
        const auto [run, first] = runs.next(static_cast<Bytes>(data.size()));
        const auto bytes = static_cast<std::size_t>(run.bytes());
        const Bytes position = first - access_.from;
        if (run.end() <= reply.end && run.stride >= 0) {
            copy_out(position, data.first(bytes));
        } else {
            for (std::int64_t i = 0; i < run.count; ++i) {
                const Bytes there =
                    std::clamp<Bytes>(reply.end - (run.offset + i * run.stride), 0, run.length);
                copy_out(position + i * run.length,
                         data.subspan(static_cast<std::size_t>(i * run.length),
                                      static_cast<std::size_t>(there)));
            }
        }
        data = data.subspan(bytes);
    }
}

void ShippedWork::copy_out(Bytes data, std::span<const std::byte> from) {
    if (memory_.tell_size() != data) memory_.seek_size(data);
    scatter_bytes(memory_, access_.buffer, from);
    moved_ += std::ssize(from);
    context_.file.stats.bytes_packed += from.size();
}

}  // namespace

std::unique_ptr<Work> make_shipped_work(const WorkContext& context, const Plan& plan,
                                        const Access& access, std::span<std::byte> memory) {
    return std::make_unique<ShippedWork>(context, plan, access, memory);
}

}  // namespace oratorio
