// SPDX-License-Identifier: BSD-3-Clause
// Calls that complete requests or query them (MPI-4.1, 3.7). They also step Oratorio's operations
// under way. The failure of an operation is raised with the error handler of its file.
#include <algorithm>
#include <span>
#include <type_traits>

#include "bind/entry.hpp"
#include "bind/errors.hpp"
#include "bind/requests.hpp"

namespace oratorio::bind {

namespace {

/// Used in place of `block` by calls that don't wait, such as MPI_Test.
struct NoBlocking {};

/// Makes a call that completes requests. `attempt` is the host's testing call; its argument reports
/// whether the requests were completed. `block` is the host's waiting call. Without `block`, calls
/// `attempt` once. Otherwise repeats `attempt` until the requests are completed; once none of
/// Oratorio's operations is under way, calls `block` instead.
template <class Attempt, class Block>
int complete(const Attempt& attempt, const Block& block) {
    if constexpr (std::is_same_v<Block, NoBlocking>) {
        process().engine.poll();
        bool done = false;
        return attempt(done);
    } else {
        if (Requests::unfinished()) {
            process().engine.poll();
            Engine::ForegroundWait foreground(process().engine);
            while (Requests::unfinished()) {
                bool done = false;
                const int code = attempt(done);
                if (done || code != MPI_SUCCESS) return code;
                foreground.poll_or_rest();
            }
        }
        return block();
    }
}

/// Makes a call that queries requests without completing them. Raises no error of a failed request:
/// the call that completes the request does that.
template <class Question>
int look(const Question& question) {
    process().engine.poll();
    const FailureWatch watch;
    return question();
}

/// Makes a call that completes one request. The code of a failure becomes the code of the call.
template <class Attempt, class Block = NoBlocking>
int complete_one(const Attempt& attempt, const Block& block = {}) {
    FailureWatch watch;
    const int code = complete(attempt, block);
    int raised = code;
    for (const PendingPtr& pending : watch.failed()) raised = FailureWatch::raise(*pending);
    return raised;
}

/// The requests as they were before the host set the completed ones to MPI_REQUEST_NULL.
class Listed {
  public:
    Listed(int count, const MPI_Request* requests) {
        // If there is no memory for the list, a failure is reported only for all requests together.
        (void)catch_to_error([&] {
            requests_.assign(requests, requests + std::max(0, count));
            return Error{};
        });
    }
    [[nodiscard]] int index_of(MPI_Request request) const {
        const auto found = std::ranges::find(requests_, request);
        return found != requests_.end() ? static_cast<int>(found - requests_.begin()) : -1;
    }

  private:
    std::vector<MPI_Request> requests_;
};

/// Raises the errors of a call that completes several requests. Returns MPI_ERR_IN_STATUS after a
/// failure, with the codes in the statuses. `statuses` holds `completed` entries; place(i) is the
/// entry of request i, or negative.
template <class Place>
int raise_all(int code, const FailureWatch& watch, const Listed& listed, MPI_Status* statuses,
              int completed, const Place& place) {
    if (watch.failed().empty()) return code;
    const bool wanted = statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; wanted && code == MPI_SUCCESS && i < completed; ++i)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    for (const PendingPtr& pending : watch.failed()) {
        const int raised = FailureWatch::raise(*pending);
        const int at = place(listed.index_of(pending->request));
        if (wanted && at >= 0 && at < completed) statuses[at].MPI_ERROR = raised;
    }
    return MPI_ERR_IN_STATUS;
}

template <class Block = NoBlocking>
int all_of(int count, MPI_Request* requests, int* flag, MPI_Status* statuses,
           const Block& block = {}) {
    const Listed listed(count, requests);
    FailureWatch watch;
    const int code = complete(
        [&](bool& done) {
            const int tested = ORATORIO_HOST(MPI_Testall)(count, requests, flag, statuses);
            done = *flag != 0;
            return tested;
        },
        block);
    if (*flag == 0) return code;  // none is completed unless all are
    return raise_all(code, watch, listed, statuses, count, [](int index) { return index; });
}

template <class Block = NoBlocking>
int some_of(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses,
            const Block& block = {}) {
    const Listed listed(count, requests);
    FailureWatch watch;
    const int code = complete(
        [&](bool& done) {
            const int tested =
                ORATORIO_HOST(MPI_Testsome)(count, requests, completed, indices, statuses);
            done = *completed != 0;  // MPI_UNDEFINED counts, too: there is nothing to wait for
            return tested;
        },
        block);
    return raise_all(code, watch, listed, statuses, std::max(0, *completed), [&](int index) {
        const std::span<const int> places(indices,
                                          static_cast<std::size_t>(std::max(0, *completed)));
        const auto found = std::ranges::find(places, index);
        return found != places.end() ? static_cast<int>(found - places.begin()) : -1;
    });
}

}  // namespace

bool requests_of_ours() {
    return Requests::any() || Requests::unfinished();
}

int wait(MPI_Request* request, MPI_Status* status) {
    const auto attempt = [&](bool& done) {
        int flag = 0;
        const int code = ORATORIO_HOST(MPI_Test)(request, &flag, status);
        done = flag != 0;
        return code;
    };
    return complete_one(attempt, [&] { return ORATORIO_HOST(MPI_Wait)(request, status); });
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
    return complete_one([&](bool&) { return ORATORIO_HOST(MPI_Test)(request, flag, status); });
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    const auto attempt = [&](bool& done) {
        int flag = 0;
        const int code = ORATORIO_HOST(MPI_Testany)(count, requests, index, &flag, status);
        done = flag != 0;
        return code;
    };
    return complete_one(attempt,
                        [&] { return ORATORIO_HOST(MPI_Waitany)(count, requests, index, status); });
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    return complete_one(
        [&](bool&) { return ORATORIO_HOST(MPI_Testany)(count, requests, index, flag, status); });
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    int flag = 0;
    return all_of(count, requests, &flag, statuses, [&] {
        flag = 1;
        return ORATORIO_HOST(MPI_Waitall)(count, requests, statuses);
    });
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    return all_of(count, requests, flag, statuses);
}

int waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    return some_of(count, requests, completed, indices, statuses, [&] {
        return ORATORIO_HOST(MPI_Waitsome)(count, requests, completed, indices, statuses);
    });
}

int testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    return some_of(count, requests, completed, indices, statuses);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    return look([&] { return ORATORIO_HOST(MPI_Request_get_status)(request, flag, status); });
}

int request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
    return look([&] {
        return ORATORIO_HOST(MPI_Request_get_status_any)(count, requests, index, flag, status);
    });
}

int request_get_status_all(int count, const MPI_Request* requests, int* flag,
                           MPI_Status* statuses) {
    return look(
        [&] { return ORATORIO_HOST(MPI_Request_get_status_all)(count, requests, flag, statuses); });
}

int request_get_status_some(int count, const MPI_Request* requests, int* completed, int* indices,
                            MPI_Status* statuses) {
    return look([&] {
        return ORATORIO_HOST(MPI_Request_get_status_some)(count, requests, completed, indices,
                                                          statuses);
    });
}

int request_is_complete(MPI_Request request) {
    return look([&] { return ORATORIO_HOST(MPIX_Request_is_complete)(request); });
}

}  // namespace oratorio::bind
