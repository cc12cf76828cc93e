// SPDX-License-Identifier: BSD-3-Clause
// A store that opens its file when it is first used.
#pragma once

#include <functional>
#include <memory>

#include "store/store.hpp"

namespace oratorio {

using OpenStore = std::function<Result<std::unique_ptr<Store>>()>;

/// `open` is called by prepare(), and by whatever else needs the file but requests, until it gives
/// a store. Where it fails so does that call. Requests are for after prepare(): else they fail,
/// with the errno that it got. What has nothing to do on a file that this store never touched
/// (sync, close, giving back a lock) opens nothing. limits() and the like are those of the store
/// that was opened, and none before.
std::unique_ptr<Store> open_late(OpenStore open);

}  // namespace oratorio
