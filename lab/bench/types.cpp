// SPDX-License-Identifier: BSD-3-Clause
#include "types.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace bench {

int to_int(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
        throw std::invalid_argument("too large for an int count: " + std::to_string(value));
    }
    return static_cast<int>(value);
}

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype contiguous(std::uint64_t count, MPI_Datatype of) {
    MPI_Datatype type;
    MPI_Type_contiguous(to_int(count), of, &type);
    return committed(type);
}

MPI_Datatype strided_bytes(std::uint64_t count, std::uint64_t bytes, std::uint64_t stride) {
    MPI_Datatype type;
    MPI_Type_create_hvector(to_int(count), to_int(bytes), static_cast<MPI_Aint>(stride), MPI_BYTE,
                            &type);
    return committed(type);
}

MPI_Datatype scattered_bytes(const std::vector<std::uint64_t>& offsets, std::uint64_t bytes) {
    if (offsets.empty()) return contiguous(1, MPI_BYTE);  // a view's filetype must not be empty
    std::vector<MPI_Aint> places(offsets.size());
    std::transform(offsets.begin(), offsets.end(), places.begin(),
                   [](std::uint64_t offset) { return static_cast<MPI_Aint>(offset); });
    MPI_Datatype type;
    MPI_Type_create_hindexed_block(to_int(places.size()), to_int(bytes), places.data(), MPI_BYTE,
                                   &type);
    return committed(type);
}

MPI_Datatype block_of_array(const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint64_t>& counts,
                            const std::vector<std::uint64_t>& starts, MPI_Datatype of) {
    std::vector<int> whole, part, first;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        whole.push_back(to_int(sizes[d]));
        part.push_back(to_int(counts[d]));
        first.push_back(to_int(starts[d]));
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(to_int(sizes.size()), whole.data(), part.data(), first.data(),
                             MPI_ORDER_C, of, &type);
    return committed(type);
}

Range block_range(std::uint64_t n, int parts, int part) {
    const auto p = static_cast<std::uint64_t>(parts);
    const std::uint64_t block = (n + p - 1) / p;
    const std::uint64_t first = std::min(n, block * static_cast<std::uint64_t>(part));
    return {first, std::min(block, n - first)};
}

Range even_range(std::uint64_t n, int parts, int part) {
    const auto p = static_cast<std::uint64_t>(parts);
    const auto at = static_cast<std::uint64_t>(part);
    if (n < p) {
        throw std::invalid_argument("an edge of " + std::to_string(n) + " can't be cut into " +
                                    std::to_string(p) + " parts");
    }
    return {n / p * at + std::min(at, n % p), n / p + (at < n % p ? 1 : 0)};
}

}  // namespace bench
