// SPDX-License-Identifier: BSD-3-Clause
// Lazy open: a store that opens its file on first use.
#pragma once

#include <functional>
#include <memory>

#include "store/store.hpp"

namespace oratorio {

using OpenStore = std::function<Result<std::unique_ptr<Store>>()>;

/// Makes a store that opens its file with `open` in the first prepare(), size(), resize(), map(),
/// duplicate(), lock query or request for a lock. If `open` fails, so does that call, and the next
/// one tries again. A transfer doesn't open the file: until the file is open, submitted requests
/// fail with the error number of the last failed `open`, or EBADF. Until then, sync(), close() and
/// unlocking do nothing, and facts() are defaults.
std::unique_ptr<Store> open_lazily(OpenStore open);

}  // namespace oratorio
