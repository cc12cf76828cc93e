// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm.hpp"

#include <string>
#include <utility>

#include "comm/agreed.hpp"
#include "mpi/errors_returned.hpp"

namespace oratorio {
namespace {

ErrorKind kind_of_class(int error_class) {
    switch (error_class) {
        case MPI_ERR_COMM:
            return ErrorKind::communicator;
        case MPI_ERR_NO_MEM:
            return ErrorKind::no_memory;
        case MPI_ERR_TYPE:
            return ErrorKind::type;
        case MPI_ERR_COUNT:
            return ErrorKind::count;
        case MPI_ERR_ARG:
            return ErrorKind::argument;
        default:
            return ErrorKind::other;
    }
}

/// Returns ": " and the host's message for an error code, or "". Current libraries of the MPI-5 ABI
/// return the message of another class, which is worse than none.
std::string text_of([[maybe_unused]] int code) {
#ifndef MPI_ABI
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    if (host().Error_string(code, text, &length) == MPI_SUCCESS) return ": " + std::string(text);
#endif
    return {};
}

}  // namespace

Result<void> check(int code, std::string_view doing) {
    if (code == MPI_SUCCESS) return {};
    int error_class = MPI_ERR_OTHER;
    host().Error_class(code, &error_class);
    return Error::make(kind_of_class(error_class), std::string(doing) + text_of(code));
}

Result<void> agree_on_error(MPI_Comm comm, const Error& mine, std::string_view what) {
    Rank rank = 0;
    host().Comm_rank(comm, &rank);
    std::uint64_t key = key_of(mine, rank);
    const auto agreed = check(host().Allreduce(MPI_IN_PLACE, &key, 1, MPI_UINT64_T, MPI_MAX, comm),
                              "agreeing on errors");
    if (!agreed || key == 0) return agreed;
    if (owner_of(key) == rank) return mine.on(rank);
    return Error::make(kind_of_key(key), what).on(owner_of(key));
}

std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    host().Get_library_version(text, &length);
    return {text, static_cast<std::size_t>(length)};
}

int thread_level(int unknown) {
    int level = MPI_THREAD_SINGLE;
    return host().Query_thread(&level) == MPI_SUCCESS ? level : unknown;
}

bool world_exists() {
    int initialized = 0;  // MPI_Session_init doesn't set it
    host().Initialized(&initialized);
    return initialized != 0;
}

bool mpi_finalized() {
    int finalized = 0;
    host().Finalized(&finalized);
    return finalized != 0;
}

Result<void> Comm::check_kind(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL)
        return Error::make(ErrorKind::communicator, "open: the communicator is MPI_COMM_NULL");
    int inter = 0;
    if (auto tested =
            check(host().Comm_test_inter(comm, &inter), "reading the kind of a communicator");
        !tested)
        return tested.error();
    if (inter)
        return Error::make(ErrorKind::communicator,
                           "open: the communicator is an intercommunicator; use an "
                           "intracommunicator");
    return {};
}

Result<Comm> Comm::duplicate_unagreed(MPI_Comm of) {
    if (auto valid = check_kind(of); !valid) return valid.error();
    MPI_Group group = MPI_GROUP_NULL;
    if (auto got = check(host().Comm_group(of, &group), "getting the group of a communicator");
        !got)
        return got.error();
    MPI_Comm comm = MPI_COMM_NULL;
    const ErrorsReturned returned(of);
    const int code = host().Comm_create(of, group, &comm);
    host().Group_free(&group);
    if (auto made = check(code, "duplicating a communicator"); !made) return made.error();
    return adopt(comm);
}

Result<Comm> Comm::duplicate(MPI_Comm of) {
    if (auto valid = check_kind(of); !valid) return valid.error();
    auto made = duplicate_unagreed(of);
    const ErrorsReturned returned(of);
    const auto agreed = agree_on_error(of, made ? Error{} : made.error(),
                                       "another rank can't duplicate the communicator");
    if (!agreed) return agreed.error();
    return made;
}

Result<Comm> Comm::split_by_node(MPI_Comm of) {
    Rank rank = 0;
    host().Comm_rank(of, &rank);
    MPI_Comm node = MPI_COMM_NULL;
    const int code = host().Comm_split_type(of, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    if (auto split = check(code, "splitting a communicator by node"); !split) return split.error();
    return adopt(node);
}

Result<Rank> Comm::first_rank_in(MPI_Comm other) const {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    const int zero = 0;
    Rank first = 0;
    int code = host().Comm_group(other, &all);
    if (code == MPI_SUCCESS) code = host().Comm_group(comm_, &some);
    if (code == MPI_SUCCESS) code = host().Group_translate_ranks(some, 1, &zero, all, &first);
    if (all != MPI_GROUP_NULL) host().Group_free(&all);
    if (some != MPI_GROUP_NULL) host().Group_free(&some);
    if (auto found = check(code, "comparing two communicators"); !found) return found.error();
    return first;
}

Result<std::optional<Comm>> Comm::some(MPI_Comm of, bool in_it) {
    MPI_Comm some = MPI_COMM_NULL;
    const int code = host().Comm_split(of, in_it ? 0 : MPI_UNDEFINED, 0, &some);
    if (auto split = check(code, "splitting a communicator"); !split) return split.error();
    if (some == MPI_COMM_NULL) return std::optional<Comm>();
    auto owner = adopt(some);
    if (!owner) return owner.error();
    return std::optional<Comm>(std::move(*owner));
}

Result<Comm> Comm::adopt(MPI_Comm comm) {
    Comm owner;
    owner.comm_ = comm;
    if (auto set =
            check(host().Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "setting an error handler");
        !set)
        return set.error();
    host().Comm_rank(comm, &owner.rank_);
    host().Comm_size(comm, &owner.size_);
    return owner;
}

Comm::Comm(Comm&& other) noexcept {
    *this = std::move(other);
}

Comm& Comm::operator=(Comm&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
    return *this;
}

Comm::~Comm() {
    if (comm_ != MPI_COMM_NULL && !mpi_finalized()) host().Comm_free(&comm_);
}

}  // namespace oratorio
