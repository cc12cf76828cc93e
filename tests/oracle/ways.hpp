// SPDX-License-Identifier: BSD-3-Clause
// Ways: makes the transports of a program's open files. Each file has one network of all its ranks
// and one of the first ranks of its nodes.
#pragma once

#include <memory>
#include <vector>

#include "oracle/network.hpp"
#include "oracle/program.hpp"

namespace oratorio::oracle {

class Ways {
  public:
    Ways(Fibers& fibers, const Program& program)
        : fibers_(fibers),
          program_(program),
          all_(program.handles.size()),
          leaders_(program.handles.size()) {}
    [[nodiscard]] std::unique_ptr<Transport> of(Rank rank, int handle);
    /// Returns the transport between the first ranks of all nodes; null on other ranks.
    [[nodiscard]] std::unique_ptr<Transport> of_leaders(const Topology& ranks, int handle);

  private:
    Fibers& fibers_;
    const Program& program_;
    std::vector<std::shared_ptr<Network>> all_;
    std::vector<std::shared_ptr<Network>> leaders_;
};

}  // namespace oratorio::oracle
