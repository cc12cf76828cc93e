// SPDX-License-Identifier: BSD-3-Clause
// Opening: one rank's part of opening a file. No other rank takes part. Private to src/file, and to
// lab/calibrate, which measures the stores that it opens.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "file/file.hpp"
#include "store/striping.hpp"

namespace oratorio {

/// A byte that no file has. Every rank that may write an open file holds it locked, itself or
/// through the first rank of its node.
inline constexpr Extent kPresence{kOffsetLimit, kOffsetLimit + 1};

/// One rank's store, and what was found out when it was opened.
struct Opening {
    std::unique_ptr<Store> store;
    Error error;
    bool readable = true;
    bool fell_back = false;  ///< uring was chosen, and the kernel refuses it
    bool is_uncached = false;
    FileNumber number;   ///< the file's on this node, also if another rank has asked for it
    bool leads = false;  ///< this rank asks the system on behalf of its node
    Error unstriped;     ///< on the rank that creates the file: why it isn't striped as hints ask
};

/// What the rank that opened the file on a node tells the node's other ranks. Fits a message.
struct Sighting {
    Error error;  ///< why it couldn't open the file
    bool readable = true;
    FileKind kind;
    FileNumber number;
};
[[nodiscard]] Sighting sighting_of(const Opening& opening);

/// Returns the store that `auto` means with these hints, where the page cache is coherent.
[[nodiscard]] StoreChoice store_for(const PlanOptions& options);

/// Opens a file that exists. `seen`: by another rank of this node, so that this one needn't ask.
[[nodiscard]] Opening open_here(const OpenCall& call, const std::string& path, const Hints& hints,
                                const std::optional<Sighting>& seen = {});
/// Does the same on the one rank that creates the file if the call says so. A new file gets its
/// stripes before any other rank opens it.
[[nodiscard]] Opening open_first(const OpenCall& call, const std::string& path, const Hints& hints);

}  // namespace oratorio
