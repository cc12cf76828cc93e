// SPDX-License-Identifier: BSD-3-Clause
// Direction of an access. Data, not code: reads and writes share every path.
#pragma once

namespace oratorio {

enum class Direction { read, write };

[[nodiscard]] constexpr const char* name_of(Direction direction) {
    return direction == Direction::read ? "read" : "write";
}

}  // namespace oratorio
