#include "run/run_memory.hpp"

#include <algorithm>

#include "exchange/message_buffers.hpp"
#include "run/region_writer.hpp"

namespace oratorio {

namespace {

// A page and its mask for each of the most slots, whatever the hint says.
constexpr Bytes kCollectiveBytesMin = 64 << 10;

}  // namespace

bool RunMemory::has_all(Direction direction) const {
    return !messages_.span().empty() && !collective_.span().empty() &&
           (direction == Direction::read || !scratch_.span().empty());
}

bool RunMemory::take_for_collective(Direction direction, const PlanOptions& options) {
    messages_ = pool_.take(MessageBuffers::bytes_needed(message_bytes_of(options),
                                                        std::max(1, options.messages_in_flight)));
    collective_ = pool_.take(std::max(options.cb_buffer_size, kCollectiveBytesMin));
    if (direction == Direction::write) scratch_ = pool_.take(RegionWriter::scratch_bytes);
    return has_all(direction);
}

bool RunMemory::take_for_alone(const Plan& plan) {
    messages_ =
        pool_.take(MessageBuffers::bytes_needed(plan.message_bytes, plan.messages_in_flight));
    collective_ = pool_.take(plan.buffer_bytes());
    if (plan.direction == Direction::write) scratch_ = pool_.take(RegionWriter::scratch_bytes);
    return has_all(plan.direction);
}

bool RunMemory::take_for_staging(Bytes bytes) {
    collective_ = pool_.take(bytes);
    return !collective_.span().empty();
}

}  // namespace oratorio
