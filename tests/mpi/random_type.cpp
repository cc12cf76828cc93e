// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/random_type.hpp"

#include <iterator>

namespace oratorio::test {
namespace {

#if MPI_VERSION >= 4
constexpr bool kLargeCounts = true;
#else
constexpr bool kLargeCounts = false;
#endif

const char* const kNames[RandomTypes::kConstructors] = {
    "dup",           "contiguous",     "vector",  "hvector",  "indexed", "hindexed",
    "indexed_block", "hindexed_block", "resized", "subarray", "darray",  "struct"};

/// Returns true for types without data: MPICH's MPI_Pack divides by zero for some structs that have
/// such members.
bool empty(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Type_size_x(type, &size);
    return size == 0;
}

}  // namespace

bool is_predefined(MPI_Datatype type) {
#if MPI_VERSION >= 4
    MPI_Count integers, addresses, counts, members;
    int combiner;
    MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &members, &combiner);
#else
    int integers, addresses, members, combiner;
    MPI_Type_get_envelope(type, &integers, &addresses, &members, &combiner);
#endif
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

template <class T>
std::vector<T> RandomTypes::list(int count, int low, int high, T scale) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(between(low, high)) * scale;
    return values;
}

MPI_Datatype RandomTypes::predefined(std::string& made) {
    if (!leaves_.empty()) {
        const int chosen = between(0, static_cast<int>(leaves_.size()) - 1);
        made += "leaf" + std::to_string(chosen);
        return leaves_[static_cast<std::size_t>(chosen)];
    }
    // long double is left out because MPICH does not pack its padding, and complex types because
    // Open MPI mixes up overlapping blocks of them.
    const MPI_Datatype types[] = {MPI_BYTE,       MPI_SHORT,     MPI_INT,       MPI_DOUBLE,
                                  MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_FLOAT_INT, MPI_LONG_DOUBLE_INT,
                                  MPI_2INT,       MPI_LONG_INT,  MPI_CHAR};
    const int chosen = between(0, std::size(types));
    made += "named" + std::to_string(chosen);
    if (chosen < static_cast<int>(std::size(types))) return types[chosen];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int code = between(0, 1) ? MPI_Type_create_f90_real(10, 50, &type)
                                   : MPI_Type_create_f90_integer(7, &type);
    return code == MPI_SUCCESS && type != MPI_DATATYPE_NULL ? type : MPI_INT;
}

MPI_Datatype RandomTypes::derived(int depth, std::string& made) {
    if (depth == 0) return predefined(made);
    const int constructor = between(0, kConstructors - 1);
    const bool large = kLargeCounts && between(0, 2) == 0;
    made += std::string(kNames[constructor]) + (large ? "_c(" : "(");
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (constructor == kConstructors - 1) {
        type = structure(depth, large, made);
    } else {
        MPI_Datatype member = derived(depth - 1, made);
        if (member != MPI_DATATYPE_NULL) {
            type = large ? build_large(constructor, member) : build(constructor, member);
            if (!is_predefined(member)) MPI_Type_free(&member);
        }
    }
    made += ")";
    return type;
}

MPI_Datatype RandomTypes::build(int constructor, MPI_Datatype member) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int count = between(0, 4);
    // Strides are even, because Open MPI treats a stride of -1 byte as "contiguous".
    const int stride = 2 * between(-3, 3);
    const int byte_stride = 2 * between(-35, 45);
    const auto lengths = list<int>(count, 0, 3);
    const auto places = list<int>(count, -6, 12);
    const auto bytes = list<MPI_Aint>(count, -40, 80);
    switch (constructor) {
        case 0:
            MPI_Type_dup(member, &type);
            break;
        case 1:
            MPI_Type_contiguous(count, member, &type);
            break;
        case 2:
            MPI_Type_vector(count, between(0, 3), stride, member, &type);
            break;
        case 3:
            MPI_Type_create_hvector(count, between(0, 3), byte_stride, member, &type);
            break;
        case 4:
            MPI_Type_indexed(count, lengths.data(), places.data(), member, &type);
            break;
        case 5:
            MPI_Type_create_hindexed(count, lengths.data(), bytes.data(), member, &type);
            break;
        case 6:
            MPI_Type_create_indexed_block(count, between(0, 3), places.data(), member, &type);
            break;
        case 7:
            MPI_Type_create_hindexed_block(count, between(0, 3), bytes.data(), member, &type);
            break;
        case 8:
            MPI_Type_create_resized(member, between(-30, 30), between(0, 200), &type);
            break;
        case 9:
            return subarray(member, false);
        default:
            return darray(member, false);
    }
    return type;
}

MPI_Datatype RandomTypes::build_large([[maybe_unused]] int constructor, MPI_Datatype member) {
#if MPI_VERSION >= 4
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int count = between(0, 4);
    const int stride = 2 * between(-3, 3);
    const int byte_stride = 2 * between(-35, 45);
    const auto lengths = list<MPI_Count>(count, 0, 3);
    const auto places = list<MPI_Count>(count, -6, 12);
    const auto bytes = list<MPI_Count>(count, -40, 80);
    switch (constructor) {
        case 0:
        case 1:
            MPI_Type_contiguous_c(count, member, &type);
            break;
        case 2:
            MPI_Type_vector_c(count, between(0, 3), stride, member, &type);
            break;
        case 3:
            MPI_Type_create_hvector_c(count, between(0, 3), byte_stride, member, &type);
            break;
        case 4:
            MPI_Type_indexed_c(count, lengths.data(), places.data(), member, &type);
            break;
        case 5:
            MPI_Type_create_hindexed_c(count, lengths.data(), bytes.data(), member, &type);
            break;
        case 6:
            MPI_Type_create_indexed_block_c(count, between(0, 3), places.data(), member, &type);
            break;
        case 7:
            MPI_Type_create_hindexed_block_c(count, between(0, 3), bytes.data(), member, &type);
            break;
        case 8:
            MPI_Type_create_resized_c(member, between(-30, 30), between(0, 200), &type);
            break;
        case 9:
            return subarray(member, true);
        default:
            return darray(member, true);
    }
    return type;
#else
    return member;
#endif
}

MPI_Datatype RandomTypes::subarray(MPI_Datatype member, [[maybe_unused]] bool large) {
    const int dimensions = between(1, 3);
    const int order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    const auto sizes = list<int>(dimensions, 1, 6);
    std::vector<int> parts, starts;
    for (const int size : sizes) {
        parts.push_back(between(1, size));
        starts.push_back(between(0, size - parts.back()));
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
    if (large) {
        const std::vector<MPI_Count> s(sizes.begin(), sizes.end()), p(parts.begin(), parts.end()),
            at(starts.begin(), starts.end());
        MPI_Type_create_subarray_c(dimensions, s.data(), p.data(), at.data(), order, member, &type);
        return type;
    }
#endif
    MPI_Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(), order, member,
                             &type);
    return type;
}

MPI_Datatype RandomTypes::darray(MPI_Datatype member, [[maybe_unused]] bool large) {
    const int dimensions = between(1, 3);
    const int order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    const auto sizes = list<int>(dimensions, 1, 9);
    std::vector<int> kinds, arguments, processes;
    int ranks = 1;
    for (const int size : sizes) {
        const int kind = between(0, 2);
        const int grid = kind == 2 ? 1 : between(1, 3);
        kinds.push_back(kind == 0   ? MPI_DISTRIBUTE_BLOCK
                        : kind == 1 ? MPI_DISTRIBUTE_CYCLIC
                                    : MPI_DISTRIBUTE_NONE);
        const int smallest = kind == 0 ? (size + grid - 1) / grid : 1;
        arguments.push_back(kind == 2 || between(0, 1) ? MPI_DISTRIBUTE_DFLT_DARG
                                                       : between(smallest, smallest + 2));
        processes.push_back(grid);
        ranks *= grid;
    }
    const int rank = between(0, ranks - 1);
    MPI_Datatype type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
    if (large) {
        const std::vector<MPI_Count> s(sizes.begin(), sizes.end());
        MPI_Type_create_darray_c(ranks, rank, dimensions, s.data(), kinds.data(), arguments.data(),
                                 processes.data(), order, member, &type);
        return type;
    }
#endif
    MPI_Type_create_darray(ranks, rank, dimensions, sizes.data(), kinds.data(), arguments.data(),
                           processes.data(), order, member, &type);
    return type;
}

MPI_Datatype RandomTypes::structure(int depth, [[maybe_unused]] bool large, std::string& made) {
    const int count = between(0, 3);
    const auto lengths = list<int>(count, 0, 3);
    const auto bytes = list<MPI_Aint>(count, -20, 40, 8);
    std::vector<MPI_Datatype> members;
    for (int i = 0; i < count; ++i) {
        members.push_back(derived(between(0, depth - 1), made));
        if (members.back() == MPI_DATATYPE_NULL || empty(members.back()))
            members.back() = leaves_.empty() ? MPI_INT : leaves_.front();
        made += ",";
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
    if (large) {
        const std::vector<MPI_Count> l(lengths.begin(), lengths.end()),
            b(bytes.begin(), bytes.end());
        MPI_Type_create_struct_c(count, l.data(), b.data(), members.data(), &type);
    }
#endif
    if (type == MPI_DATATYPE_NULL)
        MPI_Type_create_struct(count, lengths.data(), bytes.data(), members.data(), &type);
    for (MPI_Datatype& member : members)
        if (!is_predefined(member)) MPI_Type_free(&member);
    return type;
}

}  // namespace oratorio::test
