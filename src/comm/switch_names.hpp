// SPDX-License-Identifier: BSD-3-Clause
// SwitchNames: the name of the network switch of a node, from what the batch system or a file says.
#pragma once

#include <string>
#include <string_view>

namespace oratorio {

struct SwitchNames {
    /// The path from the top switch to this process's node, "s0.s4.n12", as in SLURM_TOPOLOGY_ADDR.
    std::string address;
    /// Lines "SwitchName=s4 Nodes=n[1-8,12]", as in SLURM's topology.conf. Used in place of
    /// `address`, unless the table is empty.
    std::string table;

    /// Returns the name of the switch of this process's node, "" if it isn't known. `host` is the
    /// node's name, with or without its domain.
    [[nodiscard]] std::string_view switch_of(std::string_view host) const;
};

}  // namespace oratorio
