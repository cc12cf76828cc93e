// SPDX-License-Identifier: BSD-3-Clause
// Opening: one rank's part of opening a file. No other rank takes part. Private to src/file, and to
// tools/calibrate, which measures what is opened.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "file/file.hpp"
#include "store/striping.hpp"

namespace oratorio {

/// A byte that no file has. Whoever may write an open file holds it locked: a rank itself, or the
/// first of its node for it.
inline constexpr Extent kPresence{kOffsetLimit, kOffsetLimit + 1};

/// One rank's store, and what it turned out to be.
struct Opening {
    std::unique_ptr<Store> store;
    Error error;
    bool readable = true;
    bool fell_back = false;  ///< uring was to be and is refused
    bool is_uncached = false;
    FileNumber number;   ///< on this node, also where another rank has asked for it
    bool leads = false;  ///< it asks the system on behalf of its node
    Error unstriped;     ///< of who creates it: why it isn't striped as hints ask
};

/// What who opened the file on a node tells the ranks beside. Fits a message.
struct Sighting {
    Error error;  ///< it couldn't
    bool readable = true;
    FileKind kind;
    FileNumber number;
};
[[nodiscard]] Sighting sighting_of(const Opening& opening);

/// The store that `auto` is with these hints, where the page cache is right.
[[nodiscard]] StoreChoice store_for(const PlanOptions& options);

/// Opens a file that is there. `seen`: by another rank of this node, which needn't be asked again.
[[nodiscard]] Opening open_here(const OpenCall& call, const std::string& path, const Hints& hints,
                                const std::optional<Sighting>& seen = {});
/// The same for the one rank that creates it where the call says so. A new file gets its stripes
/// before anybody else opens it.
[[nodiscard]] Opening open_first(const OpenCall& call, const std::string& path, const Hints& hints);

}  // namespace oratorio
