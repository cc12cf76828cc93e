// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype_contents.hpp"

#include "mpi/comm.hpp"

namespace oratorio {
namespace {

/// Returns true for MPI_COMBINER_VALUE_INDEX, which hosts before MPI 4.1 lack. MPICH 5.0 has it,
/// but makes no such type.
bool makes_value_index([[maybe_unused]] int combiner) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    return combiner == MPI_COMBINER_VALUE_INDEX;
#else
    return false;
#endif
}

bool makes_predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER ||
           makes_value_index(combiner);
}

/// Returns how many integers of the ordinary constructor come before those that a large-count
/// constructor keeps as counts.
std::size_t integers_before_counts(int combiner) {
    if (combiner == MPI_COMBINER_SUBARRAY) return 1;  // ndims
    if (combiner == MPI_COMBINER_DARRAY) return 3;    // size, rank, ndims
    return 0;
}

}  // namespace

Result<int> combiner_of(MPI_Datatype type) {
    int combiner = 0;
    int code = MPI_SUCCESS;
    if (host().Type_get_envelope_c) {
        MPI_Count integers = 0, addresses = 0, counts = 0, members = 0;
        code =
            host().Type_get_envelope_c(type, &integers, &addresses, &counts, &members, &combiner);
    } else {
        int integers = 0, addresses = 0, members = 0;
        code = host().Type_get_envelope(type, &integers, &addresses, &members, &combiner);
    }
    if (auto asked = check(code, "reading the constructor of a datatype"); !asked)
        return asked.error();
    return combiner;
}

Result<bool> is_predefined(MPI_Datatype type) {
    const auto combiner = combiner_of(type);
    if (!combiner) return combiner.error();
    return makes_predefined(*combiner);
}

Result<std::optional<ValueIndex>> value_index_of(MPI_Datatype type) {
    const auto combiner = combiner_of(type);
    if (!combiner) return combiner.error();
    if (!makes_value_index(*combiner)) return std::optional<ValueIndex>();
    int no_integer = 0;
    MPI_Aint no_address = 0;
    MPI_Datatype both[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    if (auto got = check(host().Type_get_contents(type, 0, 0, 2, &no_integer, &no_address, both),
                         "reading the types of a pair");
        !got)
        return got.error();
    return std::optional(ValueIndex{both[0], both[1]});
}

Result<DatatypeContents> DatatypeContents::of(MPI_Datatype type,
                                              const std::shared_ptr<BlockCache>& memory) {
    if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL)
        return Error::make(ErrorKind::type, "null datatype");
    DatatypeContents contents;
    auto done = host().Type_get_envelope_c ? contents.read_large(type, memory)
                                           : contents.read(type, memory);
    if (!done) return done.error();
    return contents;
}

Result<void> DatatypeContents::read(MPI_Datatype type, const std::shared_ptr<BlockCache>& memory) {
    int integers = 0, addresses = 0, members = 0;
    if (auto asked =
            check(host().Type_get_envelope(type, &integers, &addresses, &members, &combiner_),
                  "reading the constructor of a datatype");
        !asked || makes_predefined(combiner_))
        return asked;
    integers_ = List<int>(static_cast<std::size_t>(integers), memory);
    addresses_ = List<MPI_Aint>(static_cast<std::size_t>(addresses), memory);
    std::vector<MPI_Datatype> types(static_cast<std::size_t>(members), MPI_DATATYPE_NULL);
    auto got = check(host().Type_get_contents(type, integers, addresses, members, integers_.data(),
                                              addresses_.data(), types.data()),
                     "reading the arguments of a datatype's constructor");
    if (got) members_ = std::move(types);
    return got;
}

Result<void> DatatypeContents::read_large(MPI_Datatype type,
                                          const std::shared_ptr<BlockCache>& memory) {
    MPI_Count integers = 0, addresses = 0, counts = 0, members = 0;
    if (auto asked = check(
            host().Type_get_envelope_c(type, &integers, &addresses, &counts, &members, &combiner_),
            "reading the constructor of a datatype");
        !asked || makes_predefined(combiner_))
        return asked;
    integers_ = List<int>(static_cast<std::size_t>(integers), memory);
    addresses_ = List<MPI_Aint>(static_cast<std::size_t>(addresses), memory);
    counts_ = List<MPI_Count>(static_cast<std::size_t>(counts), memory);
    std::vector<MPI_Datatype> types(static_cast<std::size_t>(members), MPI_DATATYPE_NULL);
    auto got = check(
        host().Type_get_contents_c(type, integers, addresses, counts, members, integers_.data(),
                                   addresses_.data(), counts_.data(), types.data()),
        "reading the arguments of a datatype's constructor");
    if (got) members_ = std::move(types);
    return got;
}

DatatypeContents::~DatatypeContents() {
    for (MPI_Datatype member : members_) {
        const auto predefined = is_predefined(member);
        if (predefined && !*predefined) host().Type_free(&member);
    }
}

std::size_t DatatypeContents::integers_before() const {
    return counts_.empty() ? 0 : integers_before_counts(combiner_);
}

std::int64_t DatatypeContents::number(std::int64_t at) const {
    return with_numbers(at, [](const auto* list) -> std::int64_t { return *list; });
}

}  // namespace oratorio
