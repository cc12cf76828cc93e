// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/library_check.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace oratorio {

namespace {

using namespace std::chrono_literals;

enum class Family { mpich, open_mpi, other };

Family find_family() {
    const std::string version = library_version();
    if (version.find("Open MPI") != std::string::npos) return Family::open_mpi;
    return version.find("MPICH Version:") != std::string::npos ? Family::mpich : Family::other;
}

Family family() {
    static const Family found = find_family();
    return found;
}

enum class Waited { complete, pending, failed };

/// Waits for a request at most `patience`, or longer if the machine is so busy that this process
/// hardly ran in that time.
Waited wait_for(MPI_Request& request, std::chrono::milliseconds patience) {
    constexpr int kPolls = 200;
    const auto begin = std::chrono::steady_clock::now();
    for (int poll = 0;; ++poll) {
        int done = 0;
        if (host().Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return Waited::failed;
        if (done != 0) return Waited::complete;
        if (poll >= kPolls && std::chrono::steady_clock::now() - begin > patience)
            return Waited::pending;
        if (poll < kPolls) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(500us);
        }
    }
}

/// Waits for a request that completes or fails. Returns true if it completed.
bool completes(MPI_Request& request) {
    Waited waited = Waited::pending;
    while (waited == Waited::pending) waited = wait_for(request, 1s);
    return waited == Waited::complete;
}

/// A roll call: each present rank sends a word to every rank, in one MPI_Ialltoallv that never
/// completes if a rank is absent. The words are read before that collective is complete. MPI
/// doesn't guarantee that any have arrived by then, but MPICH and Open MPI send each word as a
/// message of its own, and only the text of an error depends on the words. The object must never be
/// freed, because the host may still write into it.
struct RollCall {
    explicit RollCall(const Comm& comm)
        : words(static_cast<std::size_t>(comm.size()), 1),
          counts(words),
          places(words.size()),
          heard(words.size()) {
        for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i);
        host().Ialltoallv(words.data(), counts.data(), places.data(), MPI_INT, heard.data(),
                          counts.data(), places.data(), MPI_INT, comm.get(), &request);
    }

    std::vector<Rank> absent() {
        std::vector<Rank> ranks;
        for (std::size_t i = 0; i < heard.size(); ++i)
            if (std::atomic_ref(heard[i]).load() == 0) ranks.push_back(static_cast<Rank>(i));
        return ranks;
    }

    std::vector<int> words;
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<int> heard;
    MPI_Request request = MPI_REQUEST_NULL;
};

LibraryCheck failed(const std::string& what, Rank first) {
    LibraryCheck check;
    check.error = Error::make(ErrorKind::other, what).on(first);
    return check;
}

/// Collective over the present ranks. Returns an error that names the ranks from which nothing has
/// arrived after `patience`.
LibraryCheck name_absent(const Comm& comm, std::chrono::milliseconds patience) {
    constexpr int kNamed = 4096;  // a roll call of more ranks would take too many messages
    constexpr std::size_t kListed = 24;
    const std::string advice = "; use `oratorio run`, or forward LD_PRELOAD to all ranks";
    const std::string of = " of " + std::to_string(comm.size());
    LibraryCheck found;
    if (comm.size() > kNamed) {
        found = failed("open: no Oratorio on some" + of + " ranks" + advice, -1);
        found.speaks = comm.rank() == 0;
        return found;
    }
    auto* const call = new RollCall(comm);
    wait_for(call->request, patience);
    const std::vector<Rank> absent = call->absent();
    if (absent.empty()) {
        found = failed(
            "open: a rank did not confirm in time that it loaded Oratorio; check whether it is "
            "stopped",
            -1);
    } else {
        const std::string ranks = absent.size() == 1 ? "rank " : "ranks ";
        found =
            failed("open: no Oratorio on " + ranks + list_of_ranks(absent, kListed) + of + advice,
                   absent.front());
    }
    Rank first_present = 0;
    while (std::ranges::binary_search(absent, first_present)) ++first_present;
    found.speaks = first_present == comm.rank();
    return found;
}

/// The value that MPICH's own comparison of access modes yields for modes that differ. A rank with
/// this value as its mode makes the comparison fail on every rank.
constexpr int kModesDiffer = ~0777;

void compare_modes(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
    const int* const left = static_cast<int*>(in);
    int* const right = static_cast<int*>(inout);
    for (int i = 0; i < *count; ++i)
        if (left[i] != right[i]) right[i] = kModesDiffer;
}

/// Takes part in the absent ranks' comparison of access modes, so that their MPI_File_open returns
/// MPI_ERR_NOT_SAME.
void refuse_open(const Comm& comm) {
    MPI_Op op = MPI_OP_NULL;
    if (host().Op_create(compare_modes, 1, &op) != MPI_SUCCESS) return;
    int mode = kModesDiffer;
    host().Allreduce(MPI_IN_PLACE, &mode, 1, MPI_INT, op, comm.get());
    host().Op_free(&op);
}

/// Makes the first calls of MPICH's MPI_File_open, which begins with the maximum of the ranks'
/// error codes, on the program's communicator. A rank without the library contributes MPI_SUCCESS,
/// which is 0, or an error code, which is positive. After success MPICH duplicates the communicator
/// and compares the access modes there.
LibraryCheck check_with_mpich(MPI_Comm program) {
    constexpr int kPresent = -1;
    int most = kPresent;
    const auto told = check(host().Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, program),
                            "checking that all ranks have loaded Oratorio");
    LibraryCheck found;
    if (!told) found.error = told.error();
    if (!told || most == kPresent) return found;
    if (most != MPI_SUCCESS)
        return failed("open: Oratorio isn't loaded on some rank, and that rank's open failed", -1);
    auto comm = Comm::duplicate_unagreed(program);
    if (!comm) {
        found.error = comm.error();
        return found;
    }
    // The communicator is never freed, because the roll call may still use it.
    Comm& kept = *new Comm(std::move(*comm));
    found = name_absent(kept, 700ms);
    refuse_open(kept);
    return found;
}

/// Makes the first call of Open MPI's MPI_File_open, which duplicates the program's communicator.
/// The duplication completes on no rank before all ranks have begun it. From then on a present rank
/// only has to be scheduled to join a barrier on the duplicate.
LibraryCheck check_with_open_mpi(MPI_Comm program) {
    LibraryCheck found;
    auto comm = Comm::duplicate_unagreed(program);
    if (!comm) {
        found.error = comm.error();
        return found;
    }
    // Requests that may never complete, and their memory, are left to MPI.
    struct Requests {
        MPI_Request barrier = MPI_REQUEST_NULL;
        MPI_Request outcome = MPI_REQUEST_NULL;
        int gave_up = 0;
    };
    auto* const requests = new Requests;
    host().Ibarrier(comm->get(), &requests->barrier);
    const bool gave_up = wait_for(requests->barrier, 600ms) != Waited::complete;
    // A rank that gave up informs ranks that are only late, so that all of them return the error.
    requests->gave_up = gave_up ? 1 : 0;
    host().Iallreduce(MPI_IN_PLACE, &requests->gave_up, 1, MPI_INT, MPI_MAX, comm->get(),
                      &requests->outcome);
    // The reduction fails if a rank has ended in a job that survives it.
    const bool agreed = !gave_up && completes(requests->outcome);
    if (agreed && requests->gave_up == 0) {
        delete requests;
        found.duplicate = std::move(*comm);
        return found;
    }
    // The communicator is never freed, because the requests may still use it.
    Comm& kept = *new Comm(std::move(*comm));
    if (gave_up || agreed) return name_absent(kept, 300ms);
    return failed("open: MPI failed while it checked that all ranks have loaded Oratorio", -1);
}

}  // namespace

LibraryCheck check_library(MPI_Comm program) {
    switch (family()) {
        case Family::mpich:
            return check_with_mpich(program);
        case Family::open_mpi:
            return check_with_open_mpi(program);
        default:
            return {};
    }
}

std::string list_of_ranks(const std::vector<Rank>& ascending, std::size_t most) {
    std::string list;
    for (std::size_t i = 0; i < ascending.size();) {
        std::size_t end = i + 1;
        while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
        std::string next = (i > 0 ? ", " : "") + std::to_string(ascending[i]);
        if (end > i + 1) next += "-" + std::to_string(ascending[end - 1]);
        if (list.size() + next.size() > most) return list + ", ...";
        list += next;
        i = end;
    }
    return list;
}

}  // namespace oratorio
