// SPDX-License-Identifier: BSD-3-Clause
// RandomTypes: seeded random nestings of every MPI datatype constructor, large-count ones where the
// host has them.
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
    /// All types are made of these predefined ones. With as many of them, one seed makes the same
    /// calls.
    RandomTypes(std::uint64_t seed, std::vector<MPI_Datatype> leaves)
        : random_(seed), leaves_(std::move(leaves)) {}

    /// An uncommitted type, to be freed by the caller unless it is predefined. `made` gets how it
    /// was made.
    MPI_Datatype derived(int depth, std::string& made);
    /// A predefined type, the ones with holes included.
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

/// Predefined, so not to be freed.
bool is_predefined(MPI_Datatype type);

}  // namespace oratorio::test
