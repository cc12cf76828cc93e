// SPDX-License-Identifier: BSD-3-Clause
// Reports to the user on the storage targets of a new file: which layout was chosen at open, and at
// close whether more targets would be better. Private to src/file.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "file/opened_file.hpp"
#include "store/target_rule.hpp"

namespace oratorio {

/// Returns the layout as text: "striping: 1 storage target up to 1 GiB, 8 up to 8 GiB, 56 beyond
/// (hint oratorio_striping)".
[[nodiscard]] std::string layout_text(std::span<const LayoutPart> layout);

struct StripingAdvice {
    Bytes bytes = 0;            ///< size of the file
    std::int64_t targets = 0;   ///< number of targets that the file has
    std::int64_t proposed = 0;  ///< number of targets that it should have
    bool known = false;         ///< the number of the file system's targets is known
    std::string command;  ///< the command by which new files in a folder get the proposed targets

    [[nodiscard]] std::string sentence() const;
};
/// Returns advice if the file was opened with MPI_MODE_CREATE and was new or empty then, has at
/// most half the targets that it should have, and neither striping_factor nor oratorio_striping=off
/// was set. Makes no system call unless the file system reports targets. REQUIRES: called by rank
/// 0, after all ranks have closed the file.
[[nodiscard]] std::optional<StripingAdvice> striping_advice(const OpenedFile& file,
                                                            const Hints& hints, int nodes);

}  // namespace oratorio
