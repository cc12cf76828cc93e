// SPDX-License-Identifier: BSD-3-Clause
// System: simulates the system calls on one file, so that the library's own stores run over
// simulated clients. The linker redirects the library's calls here (--wrap); those on other files
// are passed to the operating system.
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include "oracle/client.hpp"

namespace oratorio::oracle {

class System {
  public:
    /// The simulated file's name. Calls on any other name go to the operating system.
    static constexpr std::string_view path = "/simulated/file";

    /// `connect` returns a store of the server for the rank that opens the file; `here` returns
    /// that rank's client. At most one System exists in the process at a time.
    System(ClientKind kind, std::function<std::unique_ptr<SimulatedStore>()> connect,
           std::function<Client&()> here);
    ~System();
    System(const System&) = delete;
    System& operator=(const System&) = delete;
    [[nodiscard]] static System* running();

    int open(int flags);
    /// Returns null if the descriptor does not belong to the simulated file.
    [[nodiscard]] Connection* find(int descriptor);
    int close(int descriptor);
    [[nodiscard]] long type() const;

  private:
    ClientKind kind_;
    std::function<std::unique_ptr<SimulatedStore>()> connect_;
    std::function<Client&()> here_;
    std::map<int, Connection> open_;
    int next_;
};

}  // namespace oratorio::oracle
