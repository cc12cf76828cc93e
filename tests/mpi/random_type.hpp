// SPDX-License-Identifier: BSD-3-Clause
// RandomTypes: seeded random nestings of every MPI datatype constructor, including the large-count
// ones if the host MPI has them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace oratorio::test {

class RandomTypes {
  public:
    explicit RandomTypes(std::uint64_t seed) : random_(seed) {}
    /// Makes all types of these predefined ones. Generators with equal seeds and equal numbers of
    /// leaves make the same calls.
    RandomTypes(std::uint64_t seed, std::vector<MPI_Datatype> leaves)
        : random_(seed), leaves_(std::move(leaves)) {}

    /// Returns an uncommitted type, which the caller must free unless it is predefined. Appends a
    /// description to `made`.
    MPI_Datatype derived(int depth, std::string& made);
    /// Returns a predefined type, which may have holes.
    MPI_Datatype predefined(std::string& made);

    static constexpr int kConstructors = 12;

  private:
    int between(int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random_);
    }
    template <class T>
    std::vector<T> list(int count, int low, int high, T scale = 1);
    MPI_Datatype build(int constructor, MPI_Datatype member);
    MPI_Datatype build_large(int constructor, MPI_Datatype member);
    MPI_Datatype subarray(MPI_Datatype member, bool large);
    MPI_Datatype darray(MPI_Datatype member, bool large);
    MPI_Datatype structure(int depth, bool large, std::string& made);

    std::mt19937_64 random_;
    std::vector<MPI_Datatype> leaves_;
};

/// Returns true for predefined types, which must not be freed.
bool is_predefined(MPI_Datatype type);

}  // namespace oratorio::test
