// SPDX-License-Identifier: BSD-3-Clause
// File: one open file of a communicator. It has the view, the position and the hints, and turns a
// call into a Run. It calls no MPI: it reaches other ranks through the Transport. Functions marked
// collective must be called by all ranks in the same order, and return the same error kind on all
// ranks.
//
// REQUIRES: the caller (bind/) holds the file's lock; a File is not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data_shipping/host.hpp"
#include "device/devices.hpp"
#include "file/job_locks.hpp"
#include "file/learned_file.hpp"
#include "file/operation.hpp"
#include "file/path.hpp"
#include "file/view.hpp"
#include "file/workspace.hpp"
#include "hints/hints.hpp"

namespace oratorio {

/// The MPI_MODE_* flags as a value (MPI-4.1, 14.2.1).
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
    bool collective = false;  ///< an access with the shared file pointer is then ordered by rank
    Positioning at = Positioning::individual;
    Offset offset = 0;  ///< an explicit offset, in etypes relative to the view
    std::byte* buffer = nullptr;
    Layout memory;  ///< the user's buffer: datatype x count, offsets relative to `buffer`
    std::shared_ptr<Conversion> conversion;  ///< null: native data
    Error refused;  ///< an argument error found by the caller; a collective call still takes part,
                    ///< with no data
};

/// The thread that steps operations: the program's, or the helper thread, which calls neither MPI
/// nor code of the program.
enum class Mover { program, helper };

/// The state of a file's operations.
struct Progress {
    bool pending = false;          ///< there are operations that this mover may step
    bool any = false;              ///< there are operations under way
    std::optional<WaitHint> rest;  ///< what to wait for; empty: more can be done at once
};

enum class Whence { set, current, end, unknown };

/// Receives warnings and explanations, one line or block at a time (bind/ writes them to stderr or
/// a file).
using Narrator = std::function<void(const std::string&)>;

/// Where to write what the accesses and calls did, when the file is closed (ORATORIO_TRACE).
struct TraceCall {
    /// "": no trace. There is a trace only if all ranks have a path; it goes to rank 0's path.
    std::string path;
    Rank who = -1;      ///< number of the process in the trace; -1: the rank
    int track = 0;      ///< number of the file among those that the process has open
    Narrator complain;  ///< receives the reason if the trace can't be written; may be empty
    /// When the program called open, as Recorder::now() measures it; empty: when File::open began.
    std::optional<std::int64_t> began;
};

using OpenStoreOf =
    std::function<Result<std::unique_ptr<Store>>(const std::string& path, const OpenMode& mode)>;

struct OpenCall {
    std::string path;
    Prefixes prefixes = Prefixes::in_small_letters;
    AccessMode mode;
    HintMap info;  ///< the program's hints
    HintSources sources;
    Error refused;  ///< an argument error found by the caller on this rank
    bool explain = false;
    bool explain_all = false;  ///< everything about an access, not only the short explanation
    bool summary = false;      ///< print a summary at close, if all ranks have this or `explain`
    Narrator narrate;          ///< may be empty
    /// Receives JSON lines (file/explain_lines.hpp) in place of `narrate`; may be empty.
    Narrator record;
    TraceCall trace;
    Devices* devices = nullptr;  ///< drivers of the process; null: all memory is host memory
    /// Shared by the process's files; null: each file has its own.
    AgentHosts* agent_hosts = nullptr;
    /// Returns the costs measured for a kind of file system, as text; "" if there are none.
    std::function<std::string(std::string_view file_system)> read_costs;
    /// Times collective accesses, so that `auto` learns; null: `auto` doesn't learn. Equal on all
    /// ranks.
    Tuning::Clock clock = nullptr;
    /// Keeps the times for later jobs; null: nothing is kept. Used on rank 0 only.
    LearnedFile* learned_file = nullptr;
    /// What the process knows about locks between nodes; null: file-system locks are trusted.
    JobLocks* locks = nullptr;
    /// True if the communicator has all processes of the job. Equal on all ranks.
    bool covers_job = true;
    /// Opens stores in place of those of src/store; may be empty. Used for simulated storage.
    OpenStoreOf open_store;
    /// True if ranks do the agents' work themselves. Used for simulated ranks, which allow no other
    /// threads.
    bool inline_agents = false;
};

/// Moving at most this many bytes takes less time than waking a thread.
inline constexpr Bytes kSmallAccess = 64 << 10;

class AccessExplainer;
struct PlacedAccess;

class File {
  public:
    /// Collective. Rank 0 opens the file, and creates it, before the other ranks open it. With the
    /// hint romio_no_indep_rw (lazy open) only rank 0 and the aggregators open it here. Any other
    /// rank opens it when it needs the file; a failure is then an error of that call. Modes must be
    /// equal on all ranks (else not_same) and make sense (else amode). On failure nothing stays
    /// open, and a file that this call created is left as it is. REQUIRES: no other file uses the
    /// workspace at the same time.
    static Result<std::unique_ptr<File>> open(std::shared_ptr<Workspace> workspace,
                                              const OpenCall& call);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    /// Collective. Closes the file, and deletes it if delete_on_close is set. The File is unusable
    /// afterwards, even after an error. Written data has then reached the file system, as after
    /// write(2), but isn't forced to the device: sync() does that.
    Result<void> close();

    [[nodiscard]] Transport& transport();
    /// Returns the path as the program gave it, without a prefix.
    [[nodiscard]] const std::string& path() const;
    /// Returns the path made absolute when the file was opened.
    [[nodiscard]] const std::string& location() const;
    [[nodiscard]] const AccessMode& mode() const;
    [[nodiscard]] const View& view() const;
    /// Returns what MPI_File_get_info reports: every hint with a value, and the number of
    /// aggregators as it would be for a large access.
    [[nodiscard]] HintMap reported_hints() const;
    [[nodiscard]] const Stats& stats() const;
    [[nodiscard]] const Hints& hints() const;

    /// Collective. `mine` may be an error found while making the view: then all ranks fail and keep
    /// their old view. The etype's size and the representation must be equal on all ranks (else
    /// not_same). The position becomes 0.
    Result<void> set_view(const Result<View>& mine, const HintMap& info);
    /// Collective. Keys that aren't given keep their values; rank 0's values apply.
    Result<void> set_hints(const HintMap& info);
    /// Collective. Sizes must be equal on all ranks (else not_same). A negative size is `argument`,
    /// a file not open for writing is `read_only`.
    Result<void> set_size(Bytes bytes);
    Result<void> preallocate(Bytes bytes);
    Result<Bytes> size();
    /// Collective. Afterwards the data that this rank has written is on the device. Waits for other
    /// ranks only if their flush is needed for that or the hint romio_synchronized_flush is set;
    /// else an error is this rank's alone. Allowed on a read-only file.
    Result<void> sync();
    /// Collective; the flag must be equal on all ranks.
    Result<void> set_atomicity(bool atomic);
    [[nodiscard]] bool atomicity() const;

    /// Moves the individual file pointer, in etypes. A position before the view's start is an
    /// argument error. `end` counts from the first etype at or after the end of file and needs a
    /// view with tiles that don't interleave (else unsupported_operation).
    Result<void> seek(Offset offset, Whence whence);
    [[nodiscard]] Offset position() const;  ///< etypes
    Result<Offset> byte_offset(Offset index) const;

    /// Reads or writes data, and returns when that is done. Without an explicit offset the access
    /// starts at the file pointer and moves the pointer by the etypes *asked for*, also at the end
    /// of file (MPI-4.1, 14.4.3: to the etype after the last one "that will be accessed"); after an
    /// error the individual file pointer stays. Errors are those of other MPI-IO libraries: writing
    /// a file opened read-only is `read_only`, reading one opened write-only is `access`. Data that
    /// isn't a whole number of etypes, a negative offset, and an offset past the largest file
    /// offset are `argument`. If the view has no data at all, nothing is moved. Collective calls
    /// with the shared file pointer place the ranks' data by a prefix sum.
    Outcome access(AccessCall call);

    /// Starts an access and moves the file pointer; the call's buffer must live until the access is
    /// done. Collective accesses of a file are worked on one at a time in the order they were
    /// started, which is the same on all ranks. The independent accesses of this rank are also
    /// worked on one at a time, in their own order. A small access that needs no other rank may be
    /// done on return.
    OperationPtr start(AccessCall call);
    /// Advances started operations by a few steps, without waiting for other ranks.
    Progress progress(Mover mover);
    /// Steps an operation until it is done. Collective if the operation is. REQUIRES: this file
    /// started the operation.
    Outcome finish(const OperationPtr& operation);
    /// Steps all started operations until they are done. Collective if any of them is.
    void settle();
    /// Collective. Does what settle() does, and waits until all ranks have ended the reads in which
    /// they did not wait for each other.
    void settle_together();

    /// Begins a split collective access (MPI-4.1, 14.4.5); its buffer must live until end_split.
    /// Fails with `other` if a split collective on this file has begun and not ended. Any other
    /// failure is reported by end_split, on all ranks. No other collective access may be made
    /// between begin and end (else `other`).
    Result<void> begin_split(const AccessCall& call);
    /// Waits for the access that has begun and ends it. Fails with `other` if no access has begun
    /// or its direction or positioning differs, and with `argument` if its buffer differs. The
    /// access ends even if the call doesn't match it.
    Outcome end_split(Direction direction, Positioning at, const std::byte* buffer);

    /// Collective, with equal arguments (else not_same). Like seek(), for the shared file pointer.
    Result<void> seek_shared(Offset offset, Whence whence);
    Result<Offset> position_shared();  ///< etypes
    /// Returns the byte offset in the file of the shared file pointer.
    Result<Offset> shared_displacement();

  private:
    struct State;
    explicit File(std::unique_ptr<State> state);
    Result<void> resize(Bytes bytes, bool allocates, std::string_view what_differs);
    Result<void> close_together();
    Result<Offset> target_of(Offset offset, Whence whence, Offset current);
    struct Begun;
    [[nodiscard]] PlacedAccess describe(AccessCall& call) const;
    [[nodiscard]] bool is_plain(const AccessCall& call, const Begun& begun) const;
    Result<Offset> claim(const AccessCall& call, Begun& begun);
    Result<Offset> claim_ordered(const AccessCall& call, Begun& begun);
    [[nodiscard]] bool gathers(const AccessCall& call, const Begun& begun) const;
    [[nodiscard]] std::optional<Offset> place_at_once(const AccessCall& call,
                                                      const Begun& begun) const;
    void move_at_once(const AccessCall& call, Offset offset, Begun& begun);
    Begun begin(AccessCall& call, bool waits, Outcome& outcome);
    [[nodiscard]] AccessExplainer explainer(const AccessCall& call, const Begun& begun);
    [[nodiscard]] OperationContext operation_context(const AccessCall& call, const Begun& begun);
    OperationPtr enqueue(const AccessCall& call, Begun& begun);
    std::unique_ptr<State> state_;
};

/// Implements MPI_File_delete. Not collective. `path` may have a prefix, as in File::open.
Result<void> delete_file(const std::string& path, Prefixes dropped);

}  // namespace oratorio
