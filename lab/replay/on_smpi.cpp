// SPDX-License-Identifier: BSD-3-Clause
// oratorio_on_smpi WORKLOAD DIRECTION RANKS NODES HINTS < NUMBERS: the library itself writes or
// reads the workload, with all its ranks on SimGrid's MPI and a store that takes no time. The
// program prints the seconds from when the last rank had its plan to when the last message was
// taken, then the number of messages and their bytes. lab/count/workload.hpp describes WORKLOAD,
// and read() below the numbers. lab/oratorio_lab/simulate/smpi.py runs this program.
#include <smpi/mpi.h>
#include <smpi/smpi.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "count/layouts.hpp"
#include "count/messages.hpp"
#include "count/workload.hpp"
#include "engine/late_agreement.hpp"
#include "engine/run.hpp"
#include "platform.hpp"
#include "smpi_transport.hpp"

using namespace oratorio;
using namespace oratorio::replay;
namespace sg4 = simgrid::s4u;

namespace {

/// A store that discards all data, and reports each request as done in full.
class NoStore final : public Store {
  public:
    explicit NoStore(Bytes& moved) : moved_(moved) {}
    Submitted submit(const IoRequest& request) override {
        IoCompletion completion{.token = request.token};
        for (const iovec& piece : request.memory)
            completion.bytes += static_cast<Bytes>(piece.iov_len);
        moved_ += completion.bytes;
        done_.push_back(completion);
        return Submitted::done;
    }
    std::size_t reap(std::span<IoCompletion> out, bool /*wait*/) override {
        const std::size_t count = std::min(out.size(), done_.size());
        std::copy_n(done_.begin(), count, out.begin());
        done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
        return count;
    }
    Result<Bytes> size() override { return 0; }
    Result<void> resize(Bytes /*bytes*/, bool /*allocate*/) override { return {}; }
    Result<void> sync() override { return {}; }
    Result<void> lock(Extent, bool, bool) override { return {}; }
    Result<bool> is_locked_elsewhere(Extent) override { return false; }
    Result<Mapped> map(Extent, Direction, Populate) override {
        return Error::make(ErrorKind::unsupported_operation, "a simulated file can't be mapped");
    }
    Result<void> close() override { return {}; }

  private:
    Bytes& moved_;  ///< bytes moved by all ranks
    std::deque<IoCompletion> done_;
};

struct Machine {
    Links links;
    Ends ends;
};

Machine read(std::istream& in) {
    Machine machine;
    Links& links = machine.links;
    in >> links.rate >> links.latency >> links.middle >> links.memory >> links.near_latency;
    for (Endpoint* one : {&machine.ends.exchange, &machine.ends.gather})
        in >> one->send >> one->receive >> one->look >> one->byte >> one->piece >> one->place;
    if (!in) throw std::runtime_error("standard input has too few numbers to describe the machine");
    return machine;
}

/// The work of all ranks, which share this process and take turns.
class Job {
  public:
    Job(const std::string& workload, Direction direction, Nodes nodes, const std::string& hints)
        : direction_(direction),
          nodes_(std::move(nodes)),
          layout_of_(count::layouts_of(workload, nodes_.size)),
          terms_(std::make_shared<const Agreed<PlanConfig>>(
              Agreed<PlanConfig>::vouch(PlanConfig{count::options_of(hints), {}}))),
          seen_(nodes_.size) {
        Bytes most = 0;
        for (Rank rank = 0; rank < nodes_.size; ++rank) {
            const Bytes bytes = access_of(rank).bytes();
            most = std::max(most, bytes);
            bytes_ += bytes;
        }
        memory_.resize(static_cast<std::size_t>(most));
    }

    void live(Rank rank, const Ends& ends) {
        MPI_Init(nullptr, nullptr);
        move(rank, ends);
        MPI_Finalize();
    }

    /// Prints the results. Throws std::runtime_error if the access failed.
    void tell() const {
        if (!failure_.empty()) throw std::runtime_error(failure_);
        if (moved_ != bytes_)
            throw std::runtime_error("the simulated access moved " + std::to_string(moved_) +
                                     " bytes instead of " + std::to_string(bytes_));
        std::printf("%.9g %lld %lld\n", seen_.taken - seen_.planned,
                    static_cast<long long>(seen_.messages), static_cast<long long>(seen_.bytes));
    }

  private:
    [[nodiscard]] Access access_of(Rank rank) const {
        return count::access_of(direction_, layout_of_(rank));
    }
    void move(Rank rank, const Ends& ends) {
        SmpiTransport transport(Topology{nodes_, rank}, ends, seen_);
        NoStore store(moved_);
        Stats stats;
        BufferPool buffers;
        Access access = access_of(rank);
        access.buffer = memory_.data();  // all ranks share the memory, as no rank looks at the data
        NodeMemory node(
            Error::make(ErrorKind::unsupported_operation, "simulated ranks share no memory"));
        PlanCache plans;
        LearnedTimes learned;
        Tuning tuning(learned);
        IoThread io_thread;
        LockPolicy lock_policy;
        UndeliveredErrors undelivered;
        LateAgreement late;
        PlanObserver observer;
        const FileContext file{transport, store,     stats,       buffers,     node, plans,
                               tuning,    io_thread, lock_policy, undelivered, late};
        MPI_Barrier(MPI_COMM_WORLD);
        const Outcome outcome = run_access({file, terms_, observer}, access, true);
        if (outcome.error.kind != ErrorKind::none) failure_ = outcome.error.what;
        while (late.step(file) != Step::done) transport.idle({});
    }

    Direction direction_;
    Nodes nodes_;
    count::LayoutOf layout_of_;
    std::shared_ptr<const Agreed<PlanConfig>> terms_;
    std::vector<std::byte> memory_;
    Bytes bytes_ = 0;  ///< data of all ranks
    Bytes moved_ = 0;  ///< bytes between stores and collective buffers, of all ranks
    Seen seen_;
    std::string failure_;
};

void run(sg4::Engine& engine, char** words) {
    const bool reads = std::string(words[2]) == name_of(Direction::read);
    const int ranks = std::stoi(words[3]);
    const int nodes = std::stoi(words[4]);
    if (nodes < 1 || ranks < 1 || ranks % nodes != 0)
        throw std::runtime_error("ranks must be a multiple of nodes");
    const Machine machine = read(std::cin);
    make_platform(machine.links, nodes, 0);
    Job job(words[1], reads ? Direction::read : Direction::write, count::nodes_of(ranks, nodes),
            words[5]);
    SMPI_app_instance_register("job", nullptr, ranks);
    SMPI_init();
    for (Rank rank = 0; rank < ranks; ++rank) {
        const auto actor =
            sg4::Actor::init("rank", engine.host_by_name(name_of_node(rank / (ranks / nodes))));
        actor->set_property("instance_id", "job");
        actor->set_property("rank", std::to_string(rank));
        actor->start([&job, &machine, rank] { job.live(rank, machine.ends); });
    }
    engine.run();
    SMPI_finalize();
    job.tell();
}

}  // namespace

int main(int argc, char** argv) {
    sg4::Engine engine(&argc, argv);
    if (argc != 6) {
        std::fprintf(stderr, "oratorio_on_smpi WORKLOAD DIRECTION RANKS NODES HINTS < NUMBERS\n");
        return 2;
    }
    try {
        run(engine, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
