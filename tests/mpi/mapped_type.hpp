// SPDX-License-Identifier: BSD-3-Clause
// MappedType: an MPI datatype and the bytes that it describes, which the test computes without
// MPI.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace oratorio::test {

class MappedType {
  public:
    struct Block {
        MPI_Aint at = 0;
        MPI_Aint length = 0;
    };

    static MappedType named(MPI_Datatype type);
    static MappedType contiguous(int count, const MappedType& member);
    static MappedType vector(int count, int length, int stride, const MappedType& member);
    static MappedType hvector(int count, int length, MPI_Aint stride, const MappedType& member);
    static MappedType indexed(const std::vector<int>& lengths, const std::vector<int>& places,
                              const MappedType& member);
    static MappedType hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places,
                               const MappedType& member);
    static MappedType structure(const std::vector<MPI_Aint>& places,
                                const std::vector<const MappedType*>& members);
    static MappedType resized(MPI_Aint lower_bound, MPI_Aint extent, const MappedType& member);
    /// Returns a subarray of members. `order` is MPI_ORDER_C or MPI_ORDER_FORTRAN.
    static MappedType subarray(const std::vector<int>& sizes, const std::vector<int>& parts,
                               const std::vector<int>& starts, int order, const MappedType& member);
    /// Returns the part of a distributed array that `rank` has. Each dimension is distributed as
    /// CYCLIC(block); a block of 0 means BLOCK.
    static MappedType darray(int rank, const std::vector<int>& sizes,
                             const std::vector<int>& blocks, const std::vector<int>& grid,
                             int order, const MappedType& member);

    MappedType(MappedType&& other) noexcept;
    MappedType& operator=(MappedType&&) = delete;
    ~MappedType();

    MPI_Datatype handle() const { return handle_; }  ///< the type, committed
    const std::vector<Block>& map() const { return map_; }
    MPI_Aint size() const { return size_; }
    MPI_Aint extent() const { return extent_; }

  private:
    MappedType(MPI_Datatype handle, std::vector<Block> map);
    /// Returns a type of copies of the member, at these byte displacements.
    static MappedType copies(MPI_Datatype handle, const std::vector<MPI_Aint>& places,
                             const MappedType& member);
    static MappedType of_array(MPI_Datatype handle, const std::vector<int>& sizes,
                               const std::vector<std::vector<int>>& indices, int order,
                               const MappedType& member);

    MPI_Datatype handle_;
    bool named_ = false;
    std::vector<Block> map_;
    MPI_Aint size_ = 0;
    MPI_Aint extent_ = 0;
};

}  // namespace oratorio::test
