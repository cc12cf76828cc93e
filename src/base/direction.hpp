// SPDX-License-Identifier: BSD-3-Clause
// Direction of an access. It is data, so reads and writes share every code path.
#pragma once

namespace oratorio {

enum class Direction { read, write };

[[nodiscard]] constexpr const char* name_of(Direction direction) {
    return direction == Direction::read ? "read" : "write";
}

}  // namespace oratorio
