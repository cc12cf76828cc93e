// SPDX-License-Identifier: BSD-3-Clause
// OpenedFile: which file was opened, and what the ranks found out about it. It doesn't change while
// the file is open. Private to src/file.
#pragma once

#include <string>

#include "comm/agreed.hpp"
#include "engine/lock_policy.hpp"
#include "file/file.hpp"
#include "file/path.hpp"
#include "plan/costs.hpp"
#include "store/striping.hpp"

namespace oratorio {

/// What the ranks found out when they opened a file. Equal on all ranks.
struct FileFindings {
    StoreChoice store = StoreChoice::posix;
    bool holes_readable = true;  ///< every store that open() opened can also be read, so writes may
                                 ///< fill holes by reading them
    bool mappable = false;       ///< every store that open() opened can map the file
    bool account = false;        ///< the counts and times of all accesses are reported at close
    bool traced = false;         ///< a trace of the accesses is written at close
    long file_system = 0;        ///< type of the file system: f_type of statfs(2)
    Striping striping;           ///< the striping that the file system reports
    bool was_empty = false;      ///< the file had no bytes, or was created
    Costs costs;
    /// True if `shown`, and the first rank of each node holds kPresence locked for all of the
    /// node's ranks. The lock is released when that rank closes the file.
    bool shown_for_others = false;
    /// True if rank 0 and the first rank of each other node, or with lazy open every rank that
    /// opens the file, locks kPresence to show other handles that this handle is open.
    bool shown = false;
    bool deferred = false;  ///< lazy open: some ranks open the file only when they need it
    FileNumber number;      ///< number of the file on rank 0's node
    /// Some node's client may keep an old size of the file until that node changes the size itself.
    bool keeps_old_size = false;
};

struct OpenedFile {
    std::string path;    ///< the path as the program gave it, without a prefix: for messages
    FixedPath location;  ///< the same file as an absolute path: for the system
    AccessMode mode;
    OpenStoreOf open_store;  ///< opens stores in place of src/store; may be empty
    Agreed<FileFindings> found = agreed_from([] { return FileFindings{}; });

    /// Returns an error if the path now names another file, which must not be deleted. REQUIRES:
    /// called by rank 0 while its store is open, because some file systems give a file a new number
    /// once no process has it open.
    [[nodiscard]] Error check_location() const;
};

/// Opens a file for this rank alone, when it needs the file for the first time (lazy open). Fails
/// if the path has become the name of another file. Sets `lock_policy.sole` to false if other
/// handles can't see that this rank may write, or if it can't read what is in holes.
[[nodiscard]] Result<std::unique_ptr<Store>> open_late(const OpenedFile& file, const Hints& hints,
                                                       const Topology& topology,
                                                       LockPolicy& lock_policy);

}  // namespace oratorio
