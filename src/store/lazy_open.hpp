// SPDX-License-Identifier: BSD-3-Clause
// Lazy open: a store that opens its file on first use.
#pragma once

#include <functional>
#include <memory>

#include "store/store.hpp"

namespace oratorio {

using OpenStore = std::function<Result<std::unique_ptr<Store>>()>;

/// Makes a store that calls `open` in prepare(), and in every other operation that needs the file
/// except requests, until `open` succeeds. An operation fails if its call of `open` fails. Requests
/// before a successful prepare() fail with the error number of the last failed `open`. Operations
/// that have nothing to do on a file that this store never touched (sync, close, unlock) don't open
/// it. facts() are those of the opened store, and defaults until then.
std::unique_ptr<Store> open_lazily(OpenStore open);

}  // namespace oratorio
