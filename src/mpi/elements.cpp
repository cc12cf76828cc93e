// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/elements.hpp"

#include <cfloat>

#include "mpi/comm.hpp"
#include "mpi/datatype_contents.hpp"

namespace oratorio {
namespace {

/// The kind of number of a scalar. With its sizes in memory and file, it determines the conversion.
enum class Number { bytes, integer, natural, real, long_double, wide };

ScalarKind same_bits(Bytes size) {
    switch (size) {
        case 1:
            return ScalarKind::byte;
        case 2:
            return ScalarKind::word2;
        case 4:
            return ScalarKind::word4;
        case 8:
            return ScalarKind::word8;
        case 16:
            return ScalarKind::word16;
        default:
            return ScalarKind::none;
    }
}

constexpr ScalarKind kLongDouble = LDBL_MANT_DIG == 64    ? ScalarKind::extended_real
                                   : LDBL_MANT_DIG == 113 ? ScalarKind::word16
                                                          : ScalarKind::none;

ScalarKind kind_of(Number number, Bytes memory, Bytes file) {
    if (number == Number::long_double) return memory == 16 ? kLongDouble : ScalarKind::none;
    if (memory == file) return same_bits(memory);
    if (number == Number::wide && memory == 4 && file == 2) return ScalarKind::wide_character;
    if (memory != 8 || file != 4) return ScalarKind::none;
    if (number == Number::integer) return ScalarKind::signed_long;
    return number == Number::natural ? ScalarKind::unsigned_long : ScalarKind::none;
}

Element element_of(MPI_Datatype type, Number number, Bytes file, int scalars) {
    MPI_Count size = 0;
    host().Type_size_x(type, &size);
    const ScalarKind kind = kind_of(number, size / scalars, file);
    return {kind, scalars, size, external32_size(kind) * scalars, name_of(type)};
}

struct ElementRow {
    MPI_Datatype type;
    Number number;
    Bytes file;
    int scalars;
};

struct PairRow {
    MPI_Datatype type;
    MPI_Datatype first;
    MPI_Datatype second;
};

Element named_element(MPI_Datatype type) {
    static const ElementRow rows[] = {
#define ELEMENT(datatype, number, file, scalars) {datatype, Number::number, file, scalars},
#define PAIR(datatype, first, second)
#include "mpi/elements.def"
#undef ELEMENT
#undef PAIR
    };
    for (const ElementRow& row : rows)
        if (row.type == type) return element_of(type, row.number, row.file, row.scalars);
    return element_of(type, Number::bytes, 0, 1);
}

const PairRow* find_pair(MPI_Datatype type) {
    static const PairRow rows[] = {
#define ELEMENT(datatype, number, file, scalars)
#define PAIR(datatype, first, second) {datatype, first, second},
#include "mpi/elements.def"
#undef ELEMENT
#undef PAIR
    };
    for (const PairRow& row : rows)
        if (row.type == type) return &row;
    return nullptr;
}

/// Returns the external32 size of integers of `range` decimal digits (MPI-4.1, 19.1.9); 0 if
/// undefined.
Bytes integer_size(int range) {
    return range > 38 ? 0 : range > 18 ? 16 : range > 9 ? 8 : range > 4 ? 4 : range > 2 ? 2 : 1;
}

/// Returns the external32 size in bytes of reals with `precision` decimal digits and the decimal
/// exponent range `range`; 0 if there is none. Either may be MPI_UNDEFINED, which is negative and
/// sets no requirement.
Bytes real_size(int precision, int range) {
    if (precision > 33 || range > 4931) return 0;
    if (precision > 15 || range > 307) return 16;
    return precision > 6 || range > 37 ? 8 : 4;
}

/// Returns the element of a type that MPI_Type_create_f90_integer, _real or _complex made.
Result<Element> parametrized_element(MPI_Datatype type, int combiner) {
    constexpr int kExtendedDigits = 18;
    int asked[2] = {};
    MPI_Aint no_address = 0;
    MPI_Datatype no_type = MPI_DATATYPE_NULL;
    const int integers = combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2;
    if (auto got =
            check(host().Type_get_contents(type, integers, 0, 0, asked, &no_address, &no_type),
                  "reading the precision of a datatype");
        !got)
        return got.error();
    if (integers == 1) return element_of(type, Number::integer, integer_size(asked[0]), 1);
    const int scalars = combiner == MPI_COMBINER_F90_COMPLEX ? 2 : 1;
    const Bytes file = real_size(asked[0], asked[1]);
    // Fortran's real of up to 18 digits is the processor's extended real, where it has one.
    const bool extended = file == 16 && asked[0] <= kExtendedDigits;
    return element_of(type, extended ? Number::long_double : Number::real, file, scalars);
}

}  // namespace

Result<SignaturePtr> predefined_signature(MPI_Datatype type) {
    if (const PairRow* pair = find_pair(type)) {
        return Signature::sequence(
            {{named_element(pair->first), nullptr, 1}, {named_element(pair->second), nullptr, 1}});
    }
    const auto combiner = combiner_of(type);
    if (!combiner) return combiner.error();
    if (*combiner == MPI_COMBINER_NAMED) return Signature::of(named_element(type));
    const auto pair = value_index_of(type);
    if (!pair) return pair.error();
    if (*pair) {
        return Signature::sequence({{named_element((*pair)->value), nullptr, 1},
                                    {named_element((*pair)->index), nullptr, 1}});
    }
    const auto element = parametrized_element(type, *combiner);
    if (!element) return element.error();
    return Signature::of(*element);
}

}  // namespace oratorio
