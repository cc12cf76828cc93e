// SPDX-License-Identifier: BSD-3-Clause
// TransferCalls: the system calls that move the bytes of one request. Calls with lists are replaced
// by single calls if a sandbox forbids them.
#pragma once

#include "base/system_call.hpp"
#include "store/bounce_buffer.hpp"
#include "store/store.hpp"

namespace oratorio {

class TransferCalls {
  public:
    /// Moves bytes of the request between its memory and `file`; possibly fewer than requested.
    [[nodiscard]] Answer move(const IoRequest& request, int file);

  private:
    [[nodiscard]] Answer move_piece(Direction direction, const iovec& piece, Offset offset,
                                    int file);
    [[nodiscard]] Answer move_pieces(const IoRequest& request, int file);

    BounceBuffer bounce_buffer_;
    bool lists_refused_ = false;  ///< preadv and pwritev are forbidden, pread and pwrite aren't
};

}  // namespace oratorio
