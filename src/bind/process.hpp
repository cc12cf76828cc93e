// SPDX-License-Identifier: BSD-3-Clause
// What this process knows for all files: the environment, the open files, the error handlers. Made
// at the first use and never destroyed, because programs call MPI from destructors of globals.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agent/host.hpp"
#include "base/lock_client.hpp"
#include "bind/engine.hpp"
#include "bind/error_handlers.hpp"
#include "bind/file_table.hpp"
#include "bind/requests.hpp"
#include "bind/workspaces.hpp"
#include "device/devices.hpp"
#include "file/hints.hpp"
#include "file/job_locks.hpp"
#include "mpi/decode.hpp"

namespace oratorio::bind {

/// The environment variables that Oratorio knows, read once.
struct Settings {
    bool disabled = false;  ///< ORATORIO_DISABLE=1: the host answers every call
    bool quiet = false;     ///< ORATORIO_QUIET=1: nothing is written to stderr but before an abort
    bool explain = false;   ///< ORATORIO_EXPLAIN=1 or a path: every plan made is told
    std::string explain_path;  ///< where to; stderr when empty
    std::string trace_path;    ///< ORATORIO_TRACE: where accesses are written to; "": nowhere
    bool print_hints = false;  ///< ROMIO_PRINT_HINTS=1: each open tells the hints in force
    std::string costs_folder;  ///< ORATORIO_COSTS, else the user's cache: what calibration found
    int ranks_per_node = 0;    ///< ORATORIO_RANKS_PER_NODE: pretended node size; 0 = the true one
    int wait_notice = 10;  ///< ORATORIO_WAIT_NOTICE: seconds that rank 0 waits silently; 0: ever
    HintSources hints;     ///< ROMIO_HINTS, MPICH_MPIIO_HINTS, ORATORIO_HINTS, ORATORIO_METHOD
    std::vector<std::string> troubles;  ///< what of all this is of no use, in sentences
};

/// Serves other ranks, as far as this thread may. A thread that waits for a lock of the job calls
/// it repeatedly.
void while_locked();

/// What this rank has done with files, for the last line of explanations. Counts nothing where
/// nobody asked for those. Thread-safe.
class Account {
  public:
    /// Called once for each open of a file, when it is closed or the program ends without that.
    void add(const File& file);
    /// "2 accesses to 1 file": files opened again are one.
    [[nodiscard]] std::string text() const;

  private:
    mutable std::mutex mutex_;
    std::uint64_t accesses_ = 0;
    std::set<std::string> files_;  ///< absolute paths
};

struct Process {
    explicit Process(Settings environment) : settings(std::move(environment)) {}

    Settings settings;
    FileTable files;
    ErrorHandlers handlers;
    Requests requests;
    Engine engine;
    Workspaces workspaces;
    /// The service that this process may offer lasts until the process ends: other ranks may still
    /// use it while this one is in MPI_Finalize, and its thread never calls MPI.
    TcpLocks lock_services{while_locked};
    JobLocks locks{lock_services};
    Devices devices;
    AgentHosts agent_hosts;
    Account account;
};

[[nodiscard]] Settings read_environment();

/// Thread-safe.
[[nodiscard]] Process& process();

/// The library is off: every call is the host's.
[[nodiscard]] bool disabled();
/// Whether the host answers calls on this file: the library is off, or the host opened the file.
[[nodiscard]] bool belongs_to_host(MPI_File fh);

/// A sentence for the user on stderr; with ORATORIO_QUIET only what is urgent.
void tell(const std::string& text, bool urgent = false);
/// Plans and warnings of one file: to where ORATORIO_EXPLAIN says, else as `tell`.
void narrate(const std::string& text);

/// Once, to who wants explanations.
void tell_that_it_is_off();

/// To the user, each sentence once.
void tell_troubles(const std::vector<std::string>& troubles);

/// The text of the costs measured on this machine for a kind of file system, else of those for any
/// machine; "" when nothing was measured.
[[nodiscard]] std::string read_costs(std::string_view file_system);

/// The layout of a datatype, and what its data consists of; both kept on the datatype.
[[nodiscard]] Result<DecodedType> decode(MPI_Datatype type);
[[nodiscard]] Result<SignaturePtr> signature(MPI_Datatype type);
/// While somebody holds this, memory for the lists of datatypes is kept from one to the next. Null
/// where datatypes can't be decoded.
[[nodiscard]] std::shared_ptr<KeptMemory> keep_list_memory();

/// MPI may be over and begin again, without MPI_COMM_WORLD: keys of attributes are made anew.
void forget_keys();

/// Looks after MPI_Finalize, where kept workspaces go. Called at each open; does its work once.
void watch_for_finalize();

}  // namespace oratorio::bind
