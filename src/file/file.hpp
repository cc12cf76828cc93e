// SPDX-License-Identifier: BSD-3-Clause
// File: one open file of a communicator. It holds the view, the file pointer and the hints, and
// turns each access call into an Operation or, where a rank can move one piece by itself, into one
// storage call. It calls no MPI: it reaches other ranks through the Transport. Functions marked
// collective must be called by all ranks in the same order. Unless they say otherwise, they return
// the same error kind on all ranks.
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

/// An access mode: one member for each MPI_MODE_* flag (MPI-4.1, 14.2.1).
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

/// Where in the file an access begins (MPI-4.1, 14.4.1): at an offset passed with the call, at this
/// rank's individual file pointer, or at the shared file pointer.
enum class Positioning { explicit_offset, individual, shared };

/// One data access call.
struct AccessCall {
    Direction direction = Direction::read;
    bool collective = false;  ///< with the shared file pointer: an ordered access
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
    bool pending = false;          ///< there were operations that this mover may step
    bool any = false;              ///< there are operations under way
    std::optional<WaitHint> rest;  ///< what to wait for; empty: the next step can be made at once,
                                   ///< or nothing is under way that this mover may step
};

enum class Whence { set, current, end, unknown };

/// Receives warnings and explanations, one line or block at a time (bind/ writes them to stderr or
/// a file).
using Narrator = std::function<void(const std::string&)>;

/// The trace that is written at close (ORATORIO_TRACE): its path, and how it names this rank and
/// file.
struct TraceCall {
    /// "": no trace. There is a trace only if all ranks have a path; it goes to rank 0's path.
    std::string path;
    Rank who = -1;      ///< number of the process in the trace; -1: the rank
    int track = 0;      ///< number of the file among those that the process has open
    Narrator complain;  ///< receives the reason if the trace can't be written; may be empty
    /// When the program called open, as Recorder::now() measures it; empty: when File::open began.
    std::optional<std::int64_t> began;
    /// Another program may have started this process (MPI_Comm_spawn): a trace that was written
    /// before is perhaps that program's, so it is kept.
    bool spawned = false;
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
    bool explain_all = false;  ///< with `explain`: the full explanation of each access, not the
                               ///< short one; ignored if `record` is set
    bool summary = false;      ///< print a summary at close, if all ranks have this or `explain`
    Narrator narrate;          ///< receives explanations and warnings as text; may be empty
    Narrator summarize;        ///< receives the summary at close as text; if empty, `narrate` does
    /// Receives JSON lines (file/explain_lines.hpp) in place of both; may be empty.
    Narrator record;
    TraceCall trace;
    Devices* devices = nullptr;  ///< drivers of the process; null: all memory is host memory
    /// The agent hosts that the process's files share; null: each file has its own.
    AgentHosts* agent_hosts = nullptr;
    /// Returns the costs measured for a kind of file system, as text; "" if there are none.
    std::function<std::string(std::string_view file_system)> read_costs;
    /// The clock that times collective accesses so that `auto` learns; null: it doesn't learn.
    /// Either all ranks pass a clock or none does.
    Tuning::Clock clock = nullptr;
    Tuning::Clock cpu_clock = nullptr;  ///< the CPU time of the calling thread; may be null
    /// Keeps learned times for later jobs; null: they aren't kept. Used on rank 0 only.
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

/// Maximum number of bytes of a small access, which takes less time than waking a thread.
inline constexpr Bytes kSmallAccess = 64 << 10;

class AccessExplainer;
struct PlacedAccess;

class File {
  public:
    /// Collective. Rank 0 opens the file, and creates it if the mode says so, before the other
    /// ranks open it. With the hint romio_no_indep_rw (lazy open) only rank 0 and the aggregators
    /// open it here. Any other rank opens the file in the first call that needs it, and a failure
    /// is an error of that call. Modes must be equal on all ranks (else not_same) and make sense
    /// (else amode). On failure nothing stays open, and a file that this call created isn't
    /// removed. REQUIRES: no other file uses the workspace at the same time.
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
    /// Returns what MPI_File_get_info reports: every hint with a value, the aggregators of a large
    /// access, and facts about the file system.
    [[nodiscard]] HintMap reported_hints() const;
    [[nodiscard]] const Stats& stats() const;
    [[nodiscard]] const Hints& hints() const;

    /// Collective. Sets this rank's view, applies rank 0's hints, and sets both file pointers to 0.
    /// If making the view has failed on some rank (`mine` is an error), all ranks fail and keep
    /// their old view. The etype's size and the representation must be equal on all ranks (else
    /// not_same).
    Result<void> set_view(const Result<View>& mine, const HintMap& info);
    /// Collective. Applies rank 0's hints. Hints that rank 0 doesn't pass keep their values. If the
    /// caller found an argument error on some rank (`refused`), all ranks fail and keep their
    /// hints.
    Result<void> set_hints(const HintMap& info, const Error& refused = {});
    /// Collective. Sets the file's size, which must be equal on all ranks (else not_same). Fails
    /// with `argument` if the size is negative, with `read_only` if the file isn't open for
    /// writing, and with `unsupported_operation` if it is open for sequential access. The same
    /// holds for preallocate().
    Result<void> set_size(Bytes bytes);
    Result<void> preallocate(Bytes bytes);
    Result<Bytes> size();
    /// Collective. Forces the data that this rank has written to the device. Ends in an agreement
    /// of all ranks if their flushes are needed for that, if some ranks may have missed the failure
    /// of a write, or if the hint romio_synchronized_flush is set. Otherwise an error is this
    /// rank's alone. Allowed on a read-only file.
    Result<void> sync();
    /// Collective. Turns atomic mode on or off. The flag must be equal on all ranks (else
    /// not_same).
    Result<void> set_atomicity(bool atomic);
    [[nodiscard]] bool atomicity() const;

    /// Moves the individual file pointer, in etypes. A position before the view's start is an
    /// argument error. `end` counts from the first etype at or after the end of file and needs a
    /// view with tiles that don't interleave (else unsupported_operation).
    Result<void> seek(Offset offset, Whence whence);
    [[nodiscard]] Offset position() const;  ///< etypes
    Result<Offset> byte_offset(Offset index) const;

    /// Reads or writes data, and waits until the access is done. Without an explicit offset the
    /// access starts at the file pointer and moves the pointer by the etypes *asked for*, even if
    /// the file ends before them (MPI-4.1, 14.4.3: to the etype after the last one "that will be
    /// accessed"). After an error the individual file pointer stays where it was. Errors are those
    /// of other MPI-IO libraries: writing a file opened read-only is `read_only`, reading a file
    /// opened write-only is `access`. Data that isn't a whole number of etypes, a negative offset,
    /// and an offset past the largest file offset are `argument`. If the view's filetype has no
    /// data, nothing is moved. Collective calls with the shared file pointer place the ranks' data
    /// in rank order.
    Outcome access(AccessCall call);

    /// Starts an access and moves the file pointer; the call's buffer must live until the access is
    /// done. Collective accesses of a file are worked on one at a time in the order they were
    /// started, which is the same on all ranks. The independent accesses of this rank are also
    /// worked on one at a time, in the order they were started. A small access that needs no other
    /// rank may be done on return.
    OperationPtr start(AccessCall call);
    /// Advances started operations by a few steps, without waiting for other ranks.
    Progress progress(Mover mover);
    /// Steps an operation until it is done. Collective if the operation is. REQUIRES: this file
    /// started the operation.
    Outcome finish(const OperationPtr& operation);
    /// Steps all started operations until they are done. Collective if any of them is.
    void settle();
    /// Collective. Does what settle() does, then waits for the agreement on the last collective
    /// read that ranks left before the others had their data (engine/late_agreement.hpp).
    void settle_together();

    /// Begins a split collective access (MPI-4.1, 14.4.5); its buffer must live until end_split.
    /// Fails with `other` if a split collective on this file has begun and not ended. Any other
    /// failure is reported by end_split(). No other collective access may be made between begin and
    /// end (else `other`).
    Result<void> begin_split(const AccessCall& call);
    /// Waits for the access that has begun and ends it. Fails with `other` if no access has begun,
    /// or if it has begun with another direction or positioning, and with `argument` if it has
    /// another buffer. The access ends even if the call doesn't match it.
    Outcome end_split(Direction direction, Positioning at, const std::byte* buffer);

    /// Collective. Does what seek() does, for the shared file pointer. The arguments must be equal
    /// on all ranks (else not_same).
    Result<void> seek_shared(Offset offset, Whence whence);
    Result<Offset> position_shared();  ///< etypes
    /// Collective. Returns the byte offset, in this rank's view, of the position that the shared
    /// file pointer has when all ranks have entered.
    Result<Offset> shared_displacement();

  private:
    struct State;
    explicit File(std::unique_ptr<State> state);
    Result<void> resize(Bytes bytes, bool allocates, std::string_view what_differs);
    Result<void> close_together();
    Result<Offset> target_of(Offset offset, Whence whence, Offset current);
    struct Begun;
    [[nodiscard]] bool access_one_range(const AccessCall& call, Outcome& outcome);
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

/// Implements MPI_File_delete. Not collective. A prefix of `path` that `dropped` covers isn't part
/// of the name, as in File::open.
Result<void> delete_file(const std::string& path, Prefixes dropped);

}  // namespace oratorio
