// SPDX-License-Identifier: BSD-3-Clause
// Direction: read or write. Code that serves both takes the direction of an access as an argument.
#pragma once

namespace oratorio {

enum class Direction { read, write };

[[nodiscard]] constexpr const char* name_of(Direction direction) {
    return direction == Direction::read ? "read" : "write";
}

}  // namespace oratorio
