// SPDX-License-Identifier: BSD-3-Clause
// Opening: one rank's part of opening a file. No other rank takes part. Private to src/file and to
// lab/calibrate, which measures stores opened by these functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "file/file.hpp"
#include "store/striping.hpp"

namespace oratorio {

/// A byte that no file has. If FileFindings::shown is set, each rank that has opened the file holds
/// this byte locked, itself or through the first rank of its node.
inline constexpr Extent kPresence{kOffsetLimit, kOffsetLimit + 1};

/// One rank's store, and what was found out when it was opened.
struct Opening {
    std::unique_ptr<Store> store;
    Error error;
    bool readable = true;
    bool fell_back = false;  ///< the kernel refuses uring, which was chosen, so the store is posix
    bool asks_server = false;  ///< the store is one for file systems with incoherent client caches
    FileNumber number;   ///< number of the file on this node, perhaps as another rank found it
    bool leads = false;  ///< this rank isn't rank 0, and asked the system about the file itself,
                         ///< instead of learning from another rank of its node
    Error unstriped;     ///< why a file that this rank created isn't striped as hints ask
    /// The layout of the file, if this rank chose it (hint oratorio_striping); else empty.
    std::vector<LayoutPart> layout;
};

/// What the first rank of a node finds out when it opens the file, and sends to the node's other
/// ranks. Fits in a message.
struct Sighting {
    Error error;  ///< why that rank couldn't open the file
    bool readable = true;
    FileKind kind;
    FileNumber number;
};
[[nodiscard]] Sighting sighting_of(const Opening& opening);

/// Returns the store that `auto` chooses with these hints where the page cache is coherent.
[[nodiscard]] StoreChoice store_for(const PlanOptions& options);

/// Which clients of a network file system may use a file while it is open.
enum class Clients {
    one,     ///< all processes of the job are on this node
    several  ///< processes of the job may have the file open on other nodes
};
/// Returns the clients that may use a file. `covers_job`: the file has all processes of the job.
[[nodiscard]] Clients clients_of(bool covers_job, const Nodes& nodes);
/// Returns the store that `auto` chooses on a file system with incoherent client caches.
[[nodiscard]] StoreChoice store_of(Clients clients);

/// Opens a file that exists. `seen` is what another rank of this node has found out, so that this
/// rank needn't ask the system for it.
[[nodiscard]] Opening open_here(const OpenCall& call, const std::string& path, const Hints& hints,
                                Clients clients, const std::optional<Sighting>& seen = {});
/// Opens another store of a file that is open, for this rank alone.
[[nodiscard]] Result<std::unique_ptr<Store>> open_again(const OpenCall& call,
                                                        const std::string& path,
                                                        const Hints& hints);
/// Opens the file on rank 0, and creates it if the call says so. A new file gets its layout here,
/// if hints ask for one, before any other rank opens the file. `nodes` is the number of nodes with
/// ranks of the file.
[[nodiscard]] Opening open_first(const OpenCall& call, const std::string& path, const Hints& hints,
                                 Clients clients, int nodes);

}  // namespace oratorio
