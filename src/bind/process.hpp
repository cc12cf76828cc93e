// SPDX-License-Identifier: BSD-3-Clause
// Process: what all files of a process share, such as settings, open files and error handlers. The
// object is made at its first use and never destroyed, because programs call MPI from destructors
// of globals.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bind/engine.hpp"
#include "bind/error_handlers.hpp"
#include "bind/file_table.hpp"
#include "bind/requests.hpp"
#include "bind/waiting.hpp"
#include "bind/workspaces.hpp"
#include "comm/switch_names.hpp"
#include "data_shipping/host.hpp"
#include "device/devices.hpp"
#include "file/explain_lines.hpp"
#include "file/job_locks.hpp"
#include "hints/hints.hpp"
#include "mpi/decode.hpp"
#include "net/lock_client.hpp"

namespace oratorio::bind {

/// The settings in environment variables. process() reads them once.
struct Settings {
    bool disabled = false;  ///< ORATORIO_DISABLE=1: the host answers every call
    bool quiet = false;     ///< ORATORIO_QUIET=1: tell() writes only urgent sentences
    bool explain = false;   ///< ORATORIO_EXPLAIN=1, all or a path: explains every access
    /// ORATORIO_EXPLAIN=all or a path: every plan in full, not only the short explanations.
    bool explain_all = false;
    std::string explain_path;   ///< file that explanations go to; "": stderr
    bool explain_json = false;  ///< explanations are JSON lines: the path ends with .json
    std::string trace_path;     ///< ORATORIO_TRACE: file for the trace of accesses; "": no trace
    bool print_hints = false;   ///< ROMIO_PRINT_HINTS=1: each open prints the hints in force
    std::string learned_path;   ///< the file of learned times; "": there is no folder for it
    bool summary = false;       ///< MPICH_MPIIO_STATS=1: each close prints a summary
    std::string costs_folder;   ///< ORATORIO_COSTS, else the user's cache: measured costs
    int ranks_per_node = 0;     ///< ORATORIO_RANKS_PER_NODE: pretended node size; 0 = the true one
    SwitchNames switches;       ///< from ORATORIO_TOPOLOGY and SLURM_TOPOLOGY_ADDR
    int wait_notice = 10;  ///< ORATORIO_WAIT_NOTICE: seconds that rank 0 waits silently; 0: for
                           ///< ever
    HintSources hints;     ///< from ROMIO_HINTS, MPICH_MPIIO_HINTS, ORATORIO_HINTS,
                           ///< ORATORIO_METHOD, ORATORIO_LEARN and variables of other
                           ///< implementations
    std::vector<std::string> troubles;  ///< sentences about settings that have no effect
};

/// Serves other ranks, if this thread may call MPI. Called repeatedly by a thread that waits for a
/// lock of the job.
void while_locked();

/// What this rank has done with files, for the last line of explanations. Counts nothing if
/// explanations are off. Thread-safe.
class Account {
  public:
    /// Counts the accesses to a file. Called when the file is closed, and at the beginning of
    /// MPI_Finalize for files that are still open.
    void add(const File& file);
    /// Returns "2 accesses to 1 file". A file that is opened again counts once.
    [[nodiscard]] std::string text() const;
    /// Returns the members of the JSON line for programs, with the same numbers.
    [[nodiscard]] JsonMembers members() const;

  private:
    mutable std::mutex mutex_;  ///< guards all below
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
    Workspaces workspaces{while_waiting, settings.switches};
    /// A lock service that this process offers lasts, once a file uses it, until the process ends,
    /// because other ranks may still use it while this rank is in MPI_Finalize. Its thread never
    /// calls MPI.
    TcpLocks lock_services{while_locked};
    JobLocks locks{lock_services};
    Devices devices;
    AgentHosts agent_hosts;
    Account account;
    LearnedFile learned_file{settings.learned_path};
};

[[nodiscard]] Settings read_environment();

/// Returns what all files of this process share, made at the first call. Thread-safe.
[[nodiscard]] Process& process();

/// Returns true if the library is off, so that the host answers every call.
[[nodiscard]] bool disabled();
/// Returns true if the host answers calls on this file: the library is off, or the host opened the
/// file.
[[nodiscard]] bool belongs_to_host(MPI_File fh);

/// Writes a sentence for the user to stderr; with ORATORIO_QUIET only an urgent one.
void tell(const std::string& text, bool urgent = false);
/// Writes a line or block to the file that ORATORIO_EXPLAIN names. Without such a file, writes to
/// stderr as tell() does, as an urgent text if explanations are on.
void record(const std::string& line);
/// Writes the summary at a close as record() does, but always as an urgent text: the summary is
/// made only if ORATORIO_EXPLAIN or MPICH_MPIIO_STATS asks for it.
void summarize(const std::string& text);
/// Writes an explanation or a warning as record() does, as text or as JSON. The kind and the
/// members are for programs (file/explain_lines.hpp).
void narrate(const std::string& text, std::string_view kind = "remark",
             const JsonMembers& members = {});

/// Reports once that the library is off, if explanations are on.
void tell_that_it_is_off();

/// Reports problems to the user, each sentence once.
void tell_troubles(const std::vector<std::string>& troubles);

/// Returns the text of the costs file of a kind of file system: the file for this host if there is
/// one, otherwise the file for any host. Returns "" if neither can be read.
[[nodiscard]] std::string read_costs(std::string_view file_system);

/// Return the layout of a datatype (decode) or what its data consists of (signature). Derived
/// datatypes keep both as attributes.
[[nodiscard]] Result<DecodedType> decode(MPI_Datatype type);
[[nodiscard]] Result<SignaturePtr> signature(MPI_Datatype type);
/// Returns the memory for the lists of datatypes. While a caller holds it, the memory is kept from
/// one datatype to the next. Null if datatypes can't be decoded.
[[nodiscard]] std::shared_ptr<BlockCache> keep_list_memory();

/// Forgets the attribute keys, so that later calls make new ones. MPI frees the keys when it ends,
/// and a new MPI session may start it again (without MPI_COMM_WORLD).
void forget_keys();

/// Registers, at the first call, a callback of MPI_Finalize that finishes operations, writes the
/// last line of explanations and frees kept workspaces. Called at each open, and by finalize() if
/// explanations are on.
void watch_for_finalize();

}  // namespace oratorio::bind
