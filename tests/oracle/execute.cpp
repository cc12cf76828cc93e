// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/execute.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "comm/node_transport.hpp"
#include "memory/reserve.hpp"
#include "oracle/cluster.hpp"
#include "oracle/outcome.hpp"
#include "oracle/ways.hpp"

namespace oratorio::oracle {

namespace {

/// A file as one rank has opened it.
struct Opened {
    std::unique_ptr<File> file;
    /// A call or the helper uses the file now. In the real library, bind/ has a lock for this.
    bool busy = false;
    bool lost = false;  ///< setting its view failed, so that only close is called on it
    std::map<int, OperationPtr> started;  ///< nonblocking accesses that have not finished, by id of
                                          ///< their step
};

/// The random steps of the clock by which `auto` learns, with a new seed for each program.
thread_local test::Random clock_steps(0);

/// Returns the time of a made-up clock, which each reading advances by a random amount, so that
/// methods change from access to access, and ranks with different times have to agree.
std::int64_t look_at_clock() {
    thread_local std::int64_t now = 0;
    constexpr int kLongest = 1 << 20;  // nanoseconds
    return now += clock_steps.between(1, kLongest);
}

class Machine {
  public:
    Machine(const Program& program, Rules& rules, Stacks& stacks)
        : program_(program),
          rules_(rules),
          outcome_(program, rules),
          fibers_(stacks, program.schedule * 0x2545f4914f6cdd1dULL + 7, program.setting.pace,
                  program.setting.switch_percent),
          cluster_(fibers_, program, [this] { return current_rank(); }),
          opened_(program.handles.size()),
          ways_(fibers_, program),
          at_(static_cast<std::size_t>(program.ranks)),
          arrived_(program.steps.size()) {
        clock_steps = test::Random(program.schedule);
    }

    Verdict run();

  private:
    void bury();
    [[nodiscard]] bool sleeps_by_design() const;
    void live(Rank rank);
    void help(Rank rank);
    void take(Rank rank, const Step& step, std::size_t part);
    void open(Rank rank, const Step& step);
    void data(Rank rank, const Step& step, std::size_t part);
    void finish(Rank rank, const Step& step, std::size_t part);
    void manage(Opened& one, const Step& step, std::size_t part);
    void rendezvous(Rank rank, const Step& step);
    void poll(Rank rank);
    /// Makes a call of the library as that rank, with allocations that may fail as the setting
    /// says.
    template <class Call>
    auto in_library(Rank rank, const Call& call) {
        const Counted counted(rank == program_.setting.memory.rank);
        return call();
    }
    [[nodiscard]] bool is_empty(Rank rank, const Step& step) const;
    [[nodiscard]] AccessCall call_of(const Step& step, std::size_t part);
    /// Returns the rank whose program or helper thread is running.
    [[nodiscard]] Rank current_rank() const {
        const int fiber = fibers_.current();
        return fiber < program_.ranks ? fiber
                                      : helped_[static_cast<std::size_t>(fiber - program_.ranks)];
    }
    [[nodiscard]] Opened& opened(Rank rank, int handle) {
        return opened_[static_cast<std::size_t>(handle)][static_cast<std::size_t>(rank)];
    }
    void enter(Opened& one);

    const Program& program_;
    Rules& rules_;
    Outcomes outcome_;
    Fibers fibers_;
    std::vector<Rank> helped_;  ///< rank of each helper thread, in the order of the helpers' fibers
    Cluster cluster_;
    std::vector<std::array<Opened, kRanksMax>> opened_;  ///< index: handle, then rank
    Ways ways_;
    std::vector<std::size_t> at_;  ///< the step that each rank is in; the number of steps if it is
                                   ///< done
    /// By step: the number of ranks that have reached a barrier, or 1 if a message has been sent.
    std::vector<int> arrived_;
};

Verdict Machine::run() {
    const Setting& setting = program_.setting;
    if (setting.prefill > 0) {
        std::vector<std::byte> old(static_cast<std::size_t>(setting.prefill));
        for (std::size_t at = 0; at < old.size(); ++at)
            old[at] = rules_.old_value(static_cast<Offset>(at));
        cluster_.storage.disk.write(0, old);
    }
    if (setting.dying >= 0) {
        cluster_.locks.kill(setting.dying, setting.last_lock, [this] {
            at_[static_cast<std::size_t>(program_.setting.dying)] = program_.steps.size();
        });
    }
    for (Rank rank = 0; rank < program_.ranks; ++rank)
        fibers_.add("rank " + std::to_string(rank), [this, rank] { live(rank); });
    for (Rank rank = 0; rank < program_.ranks && setting.beside != Beside::nothing; ++rank)
        if (rank != setting.memory.helperless) {
            helped_.push_back(rank);
            fibers_.add("helper of rank " + std::to_string(rank), [this, rank] { help(rank); });
        }
    fibers_.describe = [this](int fiber) {
        if (fiber >= program_.ranks) return std::string("advances accesses");
        const std::size_t at = at_[static_cast<std::size_t>(fiber)];
        return at < program_.steps.size() ? "in " + describe(program_, program_.steps[at])
                                          : std::string("at the end");
    };
    Verdict verdict;
    verdict.wrong = fibers_.run();
    bury();
    verdict.switches = fibers_.switches();
    verdict.overslept = fibers_.overslept();
    verdict.job_locks = cluster_.locks.granted();
    if (verdict.ok()) verdict.wrong = outcome_.judge(cluster_.storage.disk);
    if (verdict.ok() && verdict.overslept > 0 && !sleeps_by_design())
        verdict.wrong = "bell: a rank slept until its time limit " +
                        std::to_string(verdict.overslept) +
                        " times, because no rank rang its doorbell";
    return verdict;
}

/// Leaks the files in whose calls the dying rank died, because a file in the middle of a call
/// cannot be closed.
void Machine::bury() {
    if (program_.setting.dying < 0) return;
    for (auto& ranks : opened_) {
        Opened& one = ranks[static_cast<std::size_t>(program_.setting.dying)];
        if (one.busy) (void)one.file.release();
    }
}

/// Returns true if a handle uses the method in which ranks access each other's memory. Its ranks
/// sleep with a time limit by design, so a sleep that no ring ended isn't a fault.
bool Machine::sleeps_by_design() const {
    return std::ranges::any_of(program_.handles, [](const Handle& handle) {
        const auto method = handle.hints.find("oratorio_method");
        return method != handle.hints.end() && method->second == "shared_data";
    });
}

void Machine::live(Rank rank) {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
        const Step& step = program_.steps[s];
        at_[static_cast<std::size_t>(rank)] = s;
        const bool all = step.kind == Kind::barrier;
        if (all || (step.kind == Kind::message && (step.from == rank || step.to == rank))) {
            rendezvous(rank, step);
            continue;
        }
        const auto mine = std::ranges::find(step.parts, rank, &Part::rank);
        if (mine == step.parts.end()) continue;
        take(rank, step, static_cast<std::size_t>(mine - step.parts.begin()));
        fibers_.moved();
        fibers_.maybe();
    }
    at_[static_cast<std::size_t>(rank)] = program_.steps.size();
}

/// Runs the helper thread of a rank, which advances nonblocking accesses until the rank is done.
void Machine::help(Rank rank) {
    const bool full = program_.setting.beside == Beside::full;
    const auto has_work = [this, rank] {
        if (at_[static_cast<std::size_t>(rank)] == program_.steps.size()) return true;
        return std::ranges::any_of(opened_, [&](const auto& ranks) {
            return !ranks[static_cast<std::size_t>(rank)].started.empty();
        });
    };
    while (at_[static_cast<std::size_t>(rank)] < program_.steps.size()) {
        if (!has_work()) fibers_.wait(has_work, "work");
        for (auto& ranks : opened_) {
            Opened& one = ranks[static_cast<std::size_t>(rank)];
            if (one.file == nullptr || one.busy || one.started.empty()) continue;
            one.busy = true;
            in_library(rank, [&] { one.file->progress(full ? Mover::program : Mover::helper); });
            one.busy = false;
        }
        fibers_.idle();
    }
}

/// Waits until no other call uses the file, and marks it as in use.
void Machine::enter(Opened& one) {
    if (one.busy) fibers_.wait([&one] { return !one.busy; }, "the file's lock");
    one.busy = true;
}

void Machine::take(Rank rank, const Step& step, std::size_t part) {
    if (step.kind == Kind::poll) return poll(rank);
    if (step.kind == Kind::open) return open(rank, step);
    Opened& one = opened(rank, step.handle);
    if (one.file == nullptr) return;  // the open of this handle failed on all ranks
    if (one.lost && step.kind != Kind::close) return;
    enter(one);
    std::optional<EmptyReserve> empty;
    if (is_empty(rank, step)) empty.emplace();
    if (step.kind == Kind::access || step.kind == Kind::start) {
        data(rank, step, part);
    } else if (step.kind == Kind::finish) {
        finish(rank, step, part);
    } else {
        manage(one, step, part);
    }
    one.busy = false;
}

bool Machine::is_empty(Rank rank, const Step& step) const {
    const Scarcity& memory = program_.setting.memory;
    return rank == memory.rank && step.id == memory.empty_step;
}

void Machine::open(Rank rank, const Step& step) {
    auto transport = ways_.of(rank, step.handle);
    OpenCall call;
    call.path = System::path;
    call.mode = {.read_write = true, .create = true};
    call.inline_agents = true;
    call.clock = look_at_clock;
    call.cpu_clock = look_at_clock;
    call.locks = &cluster_.locks_of(rank);
    call.covers_job = std::ssize(program_.handles[static_cast<std::size_t>(step.handle)].members) ==
                      program_.ranks;
    call.info = program_.handles[static_cast<std::size_t>(step.handle)].hints;
    if (!cluster_.has_clients()) {
        call.open_store = [this, rank, &step](const std::string&,
                                              const OpenMode&) -> Result<std::unique_ptr<Store>> {
            const Spared spared;
            return std::unique_ptr<Store>(cluster_.store_of(rank, step.handle));
        };
    }
    std::optional<EmptyReserve> empty;
    if (is_empty(rank, step)) empty.emplace();
    auto file = in_library(rank, [&]() -> Result<std::unique_ptr<File>> {
        if (program_.setting.node_memory) {
            const Topology ranks = transport->topology();
            const auto listed_from = program_.setting.node_lists
                                         ? agreed_from([] { return std::size_t{0}; })
                                         : NodeBoards::usually_listed_from();
            auto node = NodeTransport::over(
                std::move(transport), [&] { return ways_.of_leaders(ranks, step.handle); },
                listed_from);
            if (!node) return node.error();
            transport = std::move(*node);
        }
        return File::open(std::make_shared<Workspace>(std::move(transport)), call);
    });
    outcome_.note(step, rank, file ? Error{} : file.error());
    if (file) opened(rank, step.handle).file = std::move(*file);
}

AccessCall Machine::call_of(const Step& step, std::size_t part) {
    const Part& mine = step.parts[part];
    AccessCall call;
    call.direction = step.direction;
    call.collective = step.collective;
    call.at = step.at;
    call.offset = mine.from;
    call.buffer = outcome_.buffer(step, part).data();
    call.memory = Layout{Shape::run(mine.bytes), mine.bytes, 0, 1};
    return call;
}

void Machine::data(Rank rank, const Step& step, std::size_t part) {
    Opened& one = opened(rank, step.handle);
    File& file = *one.file;
    const AccessCall call = call_of(step, part);
    if (call.at == Positioning::individual) {
        const auto sought = in_library(rank, [&] { return file.seek(call.offset, Whence::set); });
        if (!sought) outcome_.note(step, rank, sought.error());
    }
    if (step.kind == Kind::access) {
        const Outcome done = in_library(rank, [&] { return file.access(call); });
        if (!fibers_.stopping()) outcome_.done(step, part, done);
    } else if (step.split) {
        const auto begun = in_library(rank, [&] { return file.begin_split(call); });
        if (!begun) outcome_.note(step, rank, begun.error());
        one.started[step.id] = nullptr;
    } else {
        one.started[step.id] = in_library(rank, [&] { return file.start(call); });
    }
}

void Machine::finish(Rank rank, const Step& step, std::size_t part) {
    Opened& one = opened(rank, step.handle);
    const auto found = one.started.find(step.refers);
    if (found == one.started.end()) return;
    const Step& start = *std::ranges::find(program_.steps, step.refers, &Step::id);
    std::byte* const buffer = outcome_.buffer(start, part).data();
    const Outcome done = in_library(rank, [&] {
        return step.split ? one.file->end_split(start.direction, start.at, buffer)
                          : one.file->finish(found->second);
    });
    one.started.erase(found);
    if (!fibers_.stopping()) outcome_.done(start, part, done);
}

void Machine::manage(Opened& one, const Step& step, std::size_t part) {
    File& file = *one.file;
    const Rank rank = step.parts[part].rank;
    const auto note = [&](const Result<void>& done) {
        if (fibers_.stopping()) return;
        outcome_.note(step, rank, done ? Error{} : done.error());
    };
    switch (step.kind) {
        case Kind::view: {
            const Tiles& view = step.parts[part].view;
            std::vector<Offset> offsets;
            std::vector<Bytes> lengths;
            for (const Piece& piece : view.pieces) {
                offsets.push_back(piece.at);
                lengths.push_back(piece.length);
            }
            const auto made = View::make(view.displacement, 1, Shape::runs(offsets, lengths),
                                         view.extent, true, "native");
            const auto set = in_library(rank, [&] { return file.set_view(made, {}); });
            one.lost = !set;
            return note(set);
        }
        case Kind::sync:
            return note(in_library(rank, [&] { return file.sync(); }));
        case Kind::size:
            return note(in_library(rank, [&] { return file.set_size(step.size); }));
        case Kind::atomic:
            return note(in_library(rank, [&] { return file.set_atomicity(step.on); }));
        case Kind::get_size: {
            const auto size = in_library(rank, [&] { return file.size(); });
            if (size && !fibers_.stopping()) outcome_.told_size(step, part, *size);
            return note(size ? Result<void>() : size.error());
        }
        case Kind::close:
            note(in_library(rank, [&] { return file.close(); }));
            one.file.reset();
            return;
        default:
            return;
    }
}

/// Runs the program's barriers and messages. While a rank waits in the host MPI, MPI makes the
/// rank's nonblocking accesses progress.
void Machine::rendezvous(Rank rank, const Step& step) {
    int& arrived = arrived_[at_[static_cast<std::size_t>(rank)]];
    if (step.kind == Kind::barrier || step.from == rank) ++arrived;
    fibers_.moved();
    const int wanted = step.kind == Kind::barrier ? program_.ranks : 1;
    while (arrived < wanted) {
        poll(rank);
        if (arrived < wanted) fibers_.idle();
    }
    fibers_.maybe();
}

void Machine::poll(Rank rank) {
    for (auto& ranks : opened_) {
        Opened& one = ranks[static_cast<std::size_t>(rank)];
        if (one.file == nullptr || one.busy || one.started.empty()) continue;
        one.busy = true;
        in_library(rank, [&] { one.file->progress(Mover::program); });
        one.busy = false;
    }
}

}  // namespace

Verdict execute(const Program& program, Stacks& stacks) {
    Rules rules(program);
    (void)Shape::empty();  // allocates memory that the process keeps, before allocations can fail
    const Scarce scarce(program.setting.memory);
    Verdict verdict = Machine(program, rules, stacks).run();
    if (verdict.ok() && reserve().used() > 0)
        verdict.wrong = "memory: " + std::to_string(reserve().used()) + " bytes were not returned";
    return verdict;
}

}  // namespace oratorio::oracle
