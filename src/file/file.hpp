// SPDX-License-Identifier: BSD-3-Clause
// File: one open file of a communicator: view, position, hints, and the way from a call to a Run.
// No MPI here: ranks are reached through the Transport. Not thread-safe; bind/ holds one lock per
// file. Functions marked collective must be called by all ranks in the same order; they return the
// same error kind on all ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/host.hpp"
#include "device/devices.hpp"
#include "file/hints.hpp"
#include "file/job_locks.hpp"
#include "file/operation.hpp"
#include "file/path.hpp"
#include "file/view.hpp"
#include "file/workspace.hpp"

namespace oratorio {

/// MPI_MODE_* as a value (MPI-4.1, 14.2.1).
struct AccessMode {
    bool read_only = false;
    bool write_only = false;
    bool read_write = false;
    bool create = false;
    bool exclusive = false;
    bool delete_on_close = false;
    bool unique_open = false;
    bool append = false;
    bool sequential = false;
    bool operator==(const AccessMode&) const = default;
    [[nodiscard]] bool readable() const { return read_only || read_write; }
    [[nodiscard]] bool writable() const { return write_only || read_write; }
};

/// Where in the file an access begins (MPI-4.1, 14.4.1): at an offset given with the call, at the
/// file pointer of this rank, or at the one that all ranks share.
enum class Positioning { explicit_offset, individual, shared };

/// One data access call.
struct AccessCall {
    Direction direction = Direction::read;
    bool collective = false;  ///< with the shared pointer: ordered by rank
    Positioning at = Positioning::individual;
    Offset offset = 0;  ///< etypes, relative to the view; explicit offsets only
    std::byte* buffer = nullptr;
    Layout memory;  ///< the user's buffer: datatype x count, offsets relative to `buffer`
    std::shared_ptr<Conversion> conversion;  ///< null: native data
    Error refused;  ///< an argument error found by the caller; a collective call still takes part,
                    ///< with no data
};

/// Who moves operations on: the program's thread, or a helper of ours that calls neither MPI nor
/// code of the program's.
enum class Mover { program, helper };

/// How operations stand.
struct Progress {
    bool pending = false;      ///< there are operations that this mover may move
    bool any = false;          ///< there are operations at all
    std::optional<Rest> rest;  ///< what to wait for; nothing: more can be done at once
};

enum class Whence { set, current, end, unknown };

/// Receives warnings and explanations, one line or block at a time (bind/ writes them to stderr or
/// a file).
using Narrator = std::function<void(const std::string&)>;

/// Where to what the accesses did is written when the file is closed.
struct TraceCall {
    std::string path;   ///< "": nowhere; root's counts, and only if all ranks have one
    Rank who = -1;      ///< the process in the trace; -1: as the rank
    int track = 0;      ///< no other file that the process has open meanwhile has it
    Narrator complain;  ///< is told why it can't be written; may be empty
};

using OpenStoreOf =
    std::function<Result<std::unique_ptr<Store>>(const std::string& path, const OpenMode& mode)>;

struct OpenCall {
    std::string path;
    Prefixes prefixes = Prefixes::in_small_letters;
    AccessMode mode;
    HintMap info;  ///< the program's
    HintSources sources;
    Error refused;  ///< an argument error found by the caller on this rank
    bool explain = false;
    Narrator narrate;  ///< may be empty
    TraceCall trace;
    Devices* devices = nullptr;         ///< of the process; null: all memory is the host's
    AgentHosts* agent_hosts = nullptr;  ///< of the process; null: each file has its own
    /// The costs that were measured for a kind of file system, as text; "" when there are none.
    std::function<std::string(std::string_view file_system)> read_costs;
    /// What the process knows of locks; null: file-system locks are trusted between nodes.
    JobLocks* locks = nullptr;
    /// The communicator has all processes of the job; equal on all ranks.
    bool covers_job = true;
    /// Opens stores in place of those of src/store; may be empty. (Simulated storage.)
    OpenStoreOf open_store;
    /// Ranks do themselves what agents would. (Simulated ranks, beside whom no thread may run.)
    bool inline_agents = false;
};

/// What takes less time to move than to wake a thread for it, bytes.
inline constexpr Bytes kSmallAccess = 64 << 10;

class File {
  public:
    /// Collective. Rank 0 opens the file, and creates it, before the others do, or with the hint
    /// romio_no_indep_rw before those that aggregate do, and any other when it needs it: what then
    /// fails is an error of that call. Modes must be equal on all
    /// ranks (not_same) and make sense (amode). On failure nothing stays open and a file this call
    /// created is left as it is. No other file uses the workspace meanwhile.
    static Result<std::unique_ptr<File>> open(std::shared_ptr<Workspace> workspace,
                                              const OpenCall& call);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    /// Collective; also removes the file with delete_on_close. The File is unusable afterwards,
    /// also after an error. What was written is with the file system, as after write(2), but not
    /// forced to the device: that is sync().
    Result<void> close();

    [[nodiscard]] Transport& transport();
    /// As the program gave it, without a prefix.
    [[nodiscard]] const std::string& path() const;
    /// The path made absolute when the file was opened.
    [[nodiscard]] const std::string& location() const;
    [[nodiscard]] const AccessMode& mode() const;
    [[nodiscard]] const View& view() const;
    /// What MPI_File_get_info returns: every hint with a value, the number of aggregators as it
    /// would be for a large access.
    [[nodiscard]] HintMap reported_hints() const;
    [[nodiscard]] const Stats& stats() const;
    [[nodiscard]] const Hints& hints() const;

    /// Collective. `mine` may be an error found while making the view: all ranks then fail alike
    /// and keep their old view. The etype's size and the representation must be equal on all ranks
    /// (not_same). The position becomes 0.
    Result<void> set_view(const Result<View>& mine, const HintMap& info);
    /// Collective. Keys that aren't given keep their values; root's values hold.
    Result<void> set_hints(const HintMap& info);
    /// Collective. Sizes must be equal on all ranks (else not_same); negative: argument; file not
    /// open for writing: read_only.
    Result<void> set_size(Bytes bytes);
    Result<void> preallocate(Bytes bytes);
    Result<Bytes> size();
    /// Collective. What this rank has written is on the device afterwards. Waits for the others
    /// only where that takes their flush, too; else an error is this rank's alone. Fine on a
    /// read-only file.
    Result<void> sync();
    /// Collective; the flag must be equal on all ranks.
    Result<void> set_atomicity(bool atomic);
    [[nodiscard]] bool atomicity() const;

    /// Etypes. A position before the view's begin is an argument error; `end` counts from the first
    /// etype at or after the end of file and needs a view whose tiles don't interleave (else
    /// unsupported_operation).
    Result<void> seek(Offset offset, Whence whence);
    [[nodiscard]] Offset position() const;  ///< etypes
    Result<Offset> byte_offset(Offset index) const;

    /// Reads or writes, and waits for it. Without an explicit offset it starts at the position and
    /// moves that by the etypes *asked for*, also at the end of file (MPI-4.1, 14.4.3: to the etype
    /// after the last one "that will be accessed"); after an error the individual one stays. Errors
    /// as in the peers: writing a file opened read-only is `read_only`, reading one opened
    /// write-only is `access`. Data that isn't a whole number of etypes, a negative offset and one
    /// past the largest file offset are `argument`. Where the view has no data at all nothing is
    /// moved. Collective calls with the shared pointer place the ranks' data by a prefix sum.
    Outcome access(AccessCall call);

    /// Starts an access and moves the file pointer; the call's buffer must live until it is done.
    /// Collective accesses of a file are worked on one at a time in the order they were started,
    /// which is the same on all ranks; so are the others of this rank. A small one that takes no
    /// other rank may be done on return.
    OperationPtr start(AccessCall call);
    /// Moves on what was started, a little.
    Progress progress(Mover mover);
    /// Waits until it is done; the caller moves it on.
    Outcome finish(const OperationPtr& operation);
    /// Waits until everything that was started is done. Collective ones: collective.
    void settle();

    /// Split collectives (MPI-4.1, 14.4.5). Begins an access; its buffer must live until end_split.
    /// Fails with `other` where one has begun on this file and not ended. Any other failure is an
    /// outcome of end_split, on all ranks. No other collective access may be made between the two
    /// (else `other`).
    Result<void> begin_split(const AccessCall& call);
    /// Waits for the access that has begun and ends it. Fails with `other` where none has begun or
    /// one of another kind, and with `argument` where the buffer is another one; the access has
    /// ended then, too.
    Outcome end_split(Direction direction, Positioning at, const std::byte* buffer);

    /// Collective, with equal arguments (not_same); as seek(), for the shared pointer.
    Result<void> seek_shared(Offset offset, Whence whence);
    Result<Offset> position_shared();  ///< etypes
    /// The byte of the file that the shared pointer is at.
    Result<Offset> shared_displacement();

  private:
    struct State;
    explicit File(std::unique_ptr<State> state);
    Result<void> resize(Bytes bytes, bool allocates, std::string_view what_differs);
    Result<Offset> target_of(Offset offset, Whence whence, Offset current);
    struct Placed;
    [[nodiscard]] Placed describe(AccessCall& call, bool may_move) const;
    /// Takes the call's memory layout.
    Placed place(AccessCall& call, bool may_move);
    Result<Offset> start_of(const AccessCall& call, Placed& placed);
    /// Collective. Adds what all ranks did to the trace. An error is the transport's; one of the
    /// trace is only told.
    Result<void> tell_trace();
    OperationPtr enqueue(const AccessCall& call, Placed placed, const TracedAccess& traced);
    std::unique_ptr<State> state_;
};

/// MPI_File_delete: not collective. `path` may have a prefix, as in File::open.
Result<void> delete_file(const std::string& path, Prefixes dropped);

}  // namespace oratorio
