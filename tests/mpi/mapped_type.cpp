// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/mapped_type.hpp"

#include <algorithm>
#include <utility>

namespace oratorio::test {

MappedType::MappedType(MPI_Datatype handle, std::vector<Block> map) : handle_(handle) {
    MPI_Aint lower_bound = 0;
    MPI_Type_get_extent(handle_, &lower_bound, &extent_);
    for (const Block& block : map) {
        size_ += block.length;
        if (!map_.empty() && map_.back().at + map_.back().length == block.at) {
            map_.back().length += block.length;
        } else if (block.length > 0) {
            map_.push_back(block);
        }
    }
}

MappedType::MappedType(MappedType&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)),
      named_(other.named_),
      map_(std::move(other.map_)),
      size_(other.size_),
      extent_(other.extent_) {}

MappedType::~MappedType() {
    if (!named_ && handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
}

MappedType MappedType::named(MPI_Datatype type) {
    int size = 0;
    MPI_Type_size(type, &size);
    MappedType made(type, {{0, size}});
    made.named_ = true;
    return made;
}

MappedType MappedType::copies(MPI_Datatype handle, const std::vector<MPI_Aint>& places,
                              const MappedType& member) {
    std::vector<Block> map;
    for (const MPI_Aint place : places) {
        for (const Block& block : member.map_) map.push_back({place + block.at, block.length});
    }
    MPI_Type_commit(&handle);
    return {handle, std::move(map)};
}

MappedType MappedType::contiguous(int count, const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_contiguous(count, member.handle_, &made);
    std::vector<MPI_Aint> places;
    for (int i = 0; i < count; ++i) places.push_back(i * member.extent_);
    return copies(made, places, member);
}

MappedType MappedType::hvector(int count, int length, MPI_Aint stride, const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_create_hvector(count, length, stride, member.handle_, &made);
    std::vector<MPI_Aint> places;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < length; ++k) places.push_back(i * stride + k * member.extent_);
    }
    return copies(made, places, member);
}

MappedType MappedType::vector(int count, int length, int stride, const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_vector(count, length, stride, member.handle_, &made);
    std::vector<MPI_Aint> places;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < length; ++k) {
            places.push_back((static_cast<MPI_Aint>(i) * stride + k) * member.extent_);
        }
    }
    return copies(made, places, member);
}

MappedType MappedType::hindexed(const std::vector<int>& lengths,
                                const std::vector<MPI_Aint>& places, const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                             member.handle_, &made);
    std::vector<MPI_Aint> each;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        for (int k = 0; k < lengths[i]; ++k) each.push_back(places[i] + k * member.extent_);
    }
    return copies(made, each, member);
}

MappedType MappedType::indexed(const std::vector<int>& lengths, const std::vector<int>& places,
                               const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                     member.handle_, &made);
    std::vector<MPI_Aint> each;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        for (int k = 0; k < lengths[i]; ++k) each.push_back((places[i] + k) * member.extent_);
    }
    return copies(made, each, member);
}

MappedType MappedType::structure(const std::vector<MPI_Aint>& places,
                                 const std::vector<const MappedType*>& members) {
    std::vector<MPI_Datatype> handles;
    std::vector<Block> map;
    for (std::size_t i = 0; i < members.size(); ++i) {
        handles.push_back(members[i]->handle_);
        for (const Block& block : members[i]->map_)
            map.push_back({places[i] + block.at, block.length});
    }
    const std::vector<int> ones(members.size(), 1);
    MPI_Datatype made;
    MPI_Type_create_struct(static_cast<int>(members.size()), ones.data(), places.data(),
                           handles.data(), &made);
    MPI_Type_commit(&made);
    return {made, std::move(map)};
}

MappedType MappedType::resized(MPI_Aint lower_bound, MPI_Aint extent, const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_create_resized(member.handle_, lower_bound, extent, &made);
    return copies(made, {0}, member);
}

MappedType MappedType::of_array(MPI_Datatype handle, const std::vector<int>& sizes,
                                const std::vector<std::vector<int>>& indices, int order,
                                const MappedType& member) {
    // The dimension that varies slowest comes first.
    std::vector<MPI_Aint> places{0};
    const std::size_t dimensions = sizes.size();
    for (std::size_t i = 0; i < dimensions; ++i) {
        const std::size_t d = order == MPI_ORDER_C ? i : dimensions - 1 - i;
        std::vector<MPI_Aint> finer;
        for (const MPI_Aint place : places) {
            for (const int index : indices[d]) finer.push_back(place * sizes[d] + index);
        }
        places = std::move(finer);
    }
    for (MPI_Aint& place : places) place *= member.extent_;
    return copies(handle, places, member);
}

MappedType MappedType::subarray(const std::vector<int>& sizes, const std::vector<int>& parts,
                                const std::vector<int>& starts, int order,
                                const MappedType& member) {
    MPI_Datatype made;
    MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), parts.data(),
                             starts.data(), order, member.handle_, &made);
    std::vector<std::vector<int>> indices(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        for (int i = 0; i < parts[d]; ++i) indices[d].push_back(starts[d] + i);
    }
    return of_array(made, sizes, indices, order, member);
}

MappedType MappedType::darray(int rank, const std::vector<int>& sizes,
                              const std::vector<int>& blocks, const std::vector<int>& grid,
                              int order, const MappedType& member) {
    std::vector<std::vector<int>> indices(sizes.size());
    std::vector<int> kinds, arguments;
    int ranks = 1, left = rank;
    for (const int processes : grid) ranks *= processes;
    for (std::size_t d = sizes.size(); d-- > 0;) {  // the grid is in row-major order
        const int mine = left % grid[d];
        left /= grid[d];
        const int block = blocks[d] > 0 ? blocks[d] : (sizes[d] + grid[d] - 1) / grid[d];
        for (int i = 0; i < sizes[d]; ++i) {
            if (i / block % grid[d] == mine) indices[d].push_back(i);
        }
    }
    for (const int block : blocks) {
        kinds.push_back(block > 0 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK);
        arguments.push_back(block > 0 ? block : MPI_DISTRIBUTE_DFLT_DARG);
    }
    MPI_Datatype made;
    MPI_Type_create_darray(ranks, rank, static_cast<int>(sizes.size()), sizes.data(), kinds.data(),
                           arguments.data(), grid.data(), order, member.handle_, &made);
    return of_array(made, sizes, indices, order, member);
}

}  // namespace oratorio::test
