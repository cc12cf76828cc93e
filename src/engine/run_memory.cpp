// SPDX-License-Identifier: BSD-3-Clause
#include "engine/run_memory.hpp"

#include <algorithm>

#include "exchange/messages/message_buffers.hpp"
#include "exchange/two_layer/group_data.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

// Minimum size of the collective buffer, whatever cb_buffer_size says: room for a page and its
// write mask in each of the maximum number of slots.
constexpr Bytes kCollectiveBytesMin = 64 << 10;

}  // namespace

bool RunMemory::Leases::has_all(Direction direction) const {
    return !collective.span().empty() && (direction == Direction::read || !scratch.span().empty());
}

/// Replaces `lease` by one of `bytes` bytes if it is shorter.
void RunMemory::grow(BufferPool::Lease& lease, Bytes bytes) {
    if (static_cast<Bytes>(lease.span().size()) < bytes) lease = pool_.take(bytes);
}

bool RunMemory::take_for_collective(Direction direction, const PlanOptions& options,
                                    const Topology& topology) {
    if (may_have_layers(options, topology)) {
        const int ranks = largest_group(topology, options);
        grow(shared_.group, GroupData::bytes_needed(direction, options, ranks));
        if (shared_.group.span().empty()) return false;
    }
    grow(shared_.messages, MessageBuffers::bytes_needed(message_bytes_of(options),
                                                        std::max(1, options.messages_in_flight)));
    const Bytes collective = options.collective_buffer(slots_most(options));
    grow(shared_.collective, std::max(collective, kCollectiveBytesMin));
    if (direction == Direction::write) grow(shared_.scratch, scratch_bytes_);
    return !shared_.messages.span().empty() && shared_.has_all(direction);
}

bool RunMemory::take_for_alone(const Plan& plan) {
    alone_.collective = pool_.take(plan.buffer_bytes());
    if (plan.direction == Direction::write) alone_.scratch = pool_.take(scratch_bytes_);
    return alone_.has_all(plan.direction);
}

bool RunMemory::take_for_staging(Bytes bytes) {
    alone_.collective = pool_.take(bytes);
    return !alone_.collective.span().empty();
}

}  // namespace oratorio
