// SPDX-License-Identifier: BSD-3-Clause
// Layouts and signatures of datatypes in files that aren't native. Signatures are compared with the
// host's MPI_Pack_external. Layouts are compared with the host's own bounds and with layouts of the
// same constructor calls on other members.
//
// usage: file_layout_test [first seed [seeds]]
#include "mpi/file_layout.hpp"

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/elements.hpp"
#include "mpi/random_type.hpp"
#include "type/external32.hpp"

namespace oratorio::test {
namespace {

constexpr Bytes kLargest = Bytes{1} << 16;  ///< size of a buffer; larger types are skipped

FileSize all(Bytes bytes) {
    return [bytes](const Element&) { return Result<Bytes>(bytes); };
}

Result<DecodedType> in_external32(MPI_Datatype type) {
    return file_layout(type, [](const Element& element) { return external32_size(element); });
}

#ifdef OPEN_MPI
constexpr bool kOpenMpi = true;
#else
constexpr bool kOpenMpi = false;
#endif

bool has(const std::string& made, const char* name) {
    return made.find(name) != std::string::npos;
}

/// Returns false for datatypes with which MPICH breaks MPI-4.1, 5.1.6: it moves an explicitly set
/// bound if there is data next to it.
bool bounds_are_right(const std::string& made) {
    return kOpenMpi || !has(made, "struct") ||
           !(has(made, "resized") || has(made, "subarray") || has(made, "darray"));
}

void release(MPI_Datatype& type) {
    if (!is_predefined(type)) MPI_Type_free(&type);
}

bool same(const DecodedType& a, const DecodedType& b) {
    return a.size == b.size && a.lower_bound == b.lower_bound && a.extent == b.extent &&
           a.shape->describe() == b.shape->describe();
}

void tell(const char* what, const std::string& made, const DecodedType& a, const DecodedType& b) {
    const auto number = [](Bytes value) { return static_cast<long long>(value); };
    std::fprintf(stderr, "  %s of %s:\n", what, made.c_str());
    for (const DecodedType* type : {&a, &b})
        std::fprintf(stderr, "  %s, bounds %lld+%lld\n", type->shape->describe().c_str(),
                     number(type->lower_bound), number(type->extent));
}

/// Compares the file layout of datatypes made of bytes with their layout in memory. Both must be
/// equal, as bytes are never aligned.
void a_file_of_memorys_sizes_is_laid_out_as_memory(Decoder& decoder, std::uint64_t seed) {
    RandomTypes random(seed, {MPI_BYTE, MPI_CHAR});
    std::string made = "seed " + std::to_string(seed) + ": ";
    MPI_Datatype type = random.derived(1 + static_cast<int>(seed % 4), made);
    if (type == MPI_DATATYPE_NULL) return;
    const auto memory = decoder.decode(type);
    const auto file = file_layout(type, all(1));
    CHECK(memory.ok() && file.ok());
    // Bounds of types without data are not compared, because hosts differ in them.
    const bool equal = memory->size == 0 ? file->size == 0 : same(*memory, *file);
    CHECK(equal || !bounds_are_right(made));
    if (!equal && bounds_are_right(made)) tell("bytes", made, *memory, *file);
    release(type);
}

/// Compares the file layout of datatypes made of members of 8 bytes with the memory layout of the
/// same datatypes made of doubles. Constructors that take displacements in bytes are left out,
/// because some hosts align the types that they make.
void larger_members_are_further_apart(Decoder& decoder, std::uint64_t seed) {
    std::string made = "seed " + std::to_string(seed) + ": ", again;
    RandomTypes of_bytes(seed, {MPI_BYTE}), of_doubles(seed, {MPI_DOUBLE});
    MPI_Datatype bytes = of_bytes.derived(1 + static_cast<int>(seed % 4), made);
    MPI_Datatype doubles = of_doubles.derived(1 + static_cast<int>(seed % 4), again);
    if (bytes == MPI_DATATYPE_NULL || doubles == MPI_DATATYPE_NULL) return;
    if (!has(made, "struct") && !has(made, "hvector") && !has(made, "hindexed")) {
        const auto memory = decoder.decode(doubles);
        const auto file = file_layout(bytes, all(8));
        CHECK(memory.ok() && file.ok());
        const bool equal = memory->size == 0 ? file->size == 0 : same(*memory, *file);
        CHECK(equal);
        if (!equal) tell("doubles", made, *memory, *file);
    }
    release(bytes);
    release(doubles);
}

/// Compares with Open MPI, which packs random datatypes correctly. MPICH dies with an illegal
/// instruction when it packs some derived types.
void random_data_is_packed_as_the_host_packs_it(Decoder& decoder, std::uint64_t seed) {
    RandomTypes random(seed, {MPI_INT, MPI_SHORT, MPI_DOUBLE, MPI_BYTE, MPI_FLOAT});
    std::string made = "seed " + std::to_string(seed) + ": ";
    MPI_Datatype type = random.derived(1 + static_cast<int>(seed % 3), made);
    if (type == MPI_DATATYPE_NULL) return;
    MPI_Type_commit(&type);
    const auto memory = decoder.decode(type);
    const auto item = decoder.signature(type);
    CHECK(memory.ok() && item.ok());
    const Extent span = memory->shape->span();
    if (memory->size > 0 && span.length() < kLargest) {
        CHECK((*item)->total().memory == memory->size);
        std::vector<std::byte> buffer(static_cast<std::size_t>(span.length()));
        std::mt19937 noise(static_cast<unsigned>(seed));
        for (auto& byte : buffer) byte = static_cast<std::byte>(noise());
        const std::byte* base = buffer.data() - span.begin;
        const auto conversion = external32_conversion({memory->shape, memory->extent, 0, 1}, *item);
        CHECK(conversion.ok());
        std::vector<std::byte> file(static_cast<std::size_t>((*conversion)->file_bytes()));
        CHECK((*conversion)->to_file(base, file).kind == ErrorKind::none);
        std::vector<std::byte> packed(file.size() + 64);
        MPI_Aint position = 0;
        MPI_Pack_external("external32", base, 1, type, packed.data(),
                          static_cast<MPI_Aint>(packed.size()), &position);
        packed.resize(static_cast<std::size_t>(position));
        CHECK(packed == file);
        if (packed != file) std::fprintf(stderr, "  %s\n", made.c_str());
    }
    release(type);
}

Bytes extent_in_external32(MPI_Datatype type) {
    const auto layout = in_external32(type);
    return layout ? layout->extent : -1;
}

void pairs_have_no_padding() {
    CHECK(extent_in_external32(MPI_FLOAT_INT) == 8);
    CHECK(extent_in_external32(MPI_DOUBLE_INT) == 12);
    CHECK(extent_in_external32(MPI_LONG_INT) == 8);
    CHECK(extent_in_external32(MPI_SHORT_INT) == 6);
    CHECK(extent_in_external32(MPI_2INT) == 8);
    CHECK(extent_in_external32(MPI_LONG_DOUBLE_INT) == 20);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/// A pair as MPI_Type_get_value_index may make it. No host here makes pairs without a name, so this
/// one is a structure, and the test replaces the host's functions so that they report such a pair.
struct Pair {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Datatype value = MPI_DATATYPE_NULL;
    MPI_Datatype index = MPI_DATATYPE_NULL;
};
Pair pretended;
Host real;

int envelope_of_pair(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses,
                     MPI_Count* counts, MPI_Count* types, int* combiner) {
    const int code = real.Type_get_envelope_c(type, integers, addresses, counts, types, combiner);
    if (type != pretended.type) return code;
    *integers = *addresses = *counts = 0;
    *types = 2;
    *combiner = MPI_COMBINER_VALUE_INDEX;
    return code;
}

int contents_of_pair(MPI_Datatype type, int integers, int addresses, int types, int* integer,
                     MPI_Aint* address, MPI_Datatype* list) {
    if (type != pretended.type)
        return real.Type_get_contents(type, integers, addresses, types, integer, address, list);
    list[0] = pretended.value;
    list[1] = pretended.index;
    return integers == 0 && addresses == 0 && types == 2 ? MPI_SUCCESS : MPI_ERR_ARG;
}

int free_no_pair(MPI_Datatype* type) {
    CHECK(*type != pretended.type);
    return real.Type_free(type);
}

/// Makes the datatype of a C struct whose members are `value` and, at `offset`, `index`.
MPI_Datatype struct_of(MPI_Datatype value, MPI_Datatype index, MPI_Aint offset, MPI_Aint extent) {
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, offset};
    MPI_Datatype members[] = {value, index}, plain = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    CHECK(MPI_Type_create_struct(2, lengths, places, members, &plain) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(plain, 0, extent, &made) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&made) == MPI_SUCCESS);
    MPI_Type_free(&plain);
    return made;
}

void check_pair(Decoder& decoder, MPI_Datatype value, MPI_Datatype index, MPI_Aint offset,
                MPI_Aint extent, Bytes in_file) {
    const MPI_Datatype made = struct_of(value, index, offset, extent);
    const auto as_struct = decoder.decode(struct_of(value, index, offset, extent));
    pretended = {made, value, index};
    const auto decoded = decoder.decode(made);
    CHECK(as_struct.ok() && decoded.ok() && same(*as_struct, *decoded));
    MPI_Datatype two = MPI_DATATYPE_NULL;
    CHECK(MPI_Type_contiguous(2, made, &two) == MPI_SUCCESS);
    const auto of_two = decoder.decode(two);
    CHECK(of_two.ok() && of_two->size == 2 * decoded->size && of_two->extent == 2 * extent);
    const auto elements = decoder.signature(two);
    CHECK(elements.ok() && (*elements)->total().file == 2 * in_file);
    CHECK(extent_in_external32(made) == in_file && extent_in_external32(two) == 2 * in_file);
    pretended = {};
    release(two);
}

void pairs_without_a_name_are_laid_out_as_those_with_one(Decoder& decoder) {
    // host() returns a reference to a variable, so its functions can be replaced.
    Host& functions = const_cast<Host&>(host());
    real = functions;
    functions.Type_get_envelope_c = envelope_of_pair;
    functions.Type_get_contents = contents_of_pair;
    functions.Type_free = free_no_pair;
    check_pair(decoder, MPI_DOUBLE, MPI_INT64_T, 8, 16, 16);
    check_pair(decoder, MPI_DOUBLE, MPI_INT16_T, 8, 16, 10);
    check_pair(decoder, MPI_INT16_T, MPI_INT64_T, 8, 16, 10);
    check_pair(decoder, MPI_UINT8_T, MPI_INT32_T, 4, 8, 5);
    functions = real;
}
#else
void pairs_without_a_name_are_laid_out_as_those_with_one(Decoder&) {}
#endif

/// Checks the standard's own table of precisions (MPI-4.1, 19.1.9).
void precisions_have_the_sizes_of_the_standard() {
    const auto integer = [](int range) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        const int code = MPI_Type_create_f90_integer(range, &type);
        return code == MPI_SUCCESS ? extent_in_external32(type) : -2;
    };
    CHECK(integer(2) == 1);
    CHECK(integer(4) == 2);
    CHECK(integer(9) == 4);
    CHECK(integer(18) == 8);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    CHECK(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type) == MPI_SUCCESS);
    CHECK(extent_in_external32(type) == 4);
    CHECK(MPI_Type_create_f90_complex(15, 300, &type) == MPI_SUCCESS);
    CHECK(extent_in_external32(type) == 16);
}

/// Checks that a bound set by a marker takes precedence over the data, even if data lies outside
/// the bound.
void bounds_that_were_set_count_alone() {
    MPI_Datatype narrow = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_LONG, 2, 10, &narrow);
    const int lengths[] = {1, 1, 0};
    const MPI_Aint places[] = {0, 100, 500};
    const MPI_Datatype members[] = {narrow, MPI_LONG, narrow};
    MPI_Type_create_struct(3, lengths, places, members, &made);
    const auto layout = in_external32(made);
    CHECK(layout.ok() && layout->lower_bound == 2 && layout->extent == 10);
    CHECK(layout->size == 8 && layout->shape->span().end == 104);
    MPI_Type_free(&made);
    MPI_Type_free(&narrow);
}

void a_vector_of_longs_is_half_as_long_in_the_file() {
    MPI_Datatype vector = MPI_DATATYPE_NULL, bytes_apart = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 2, 5, MPI_LONG, &vector);
    MPI_Type_create_hvector(3, 2, 40, MPI_LONG, &bytes_apart);
    const auto in_types = in_external32(vector), in_bytes = in_external32(bytes_apart);
    CHECK(in_types.ok() && in_types->extent == 4 * 12 && in_types->size == 24);
    CHECK(in_bytes.ok() && in_bytes->extent == 88 && in_bytes->size == 24);
    MPI_Type_free(&vector);
    MPI_Type_free(&bytes_apart);
}

void null_and_failing_sizes_are_errors(Decoder& decoder) {
    CHECK(file_layout(MPI_DATATYPE_NULL, all(1)).error().kind == ErrorKind::type);
    CHECK(decoder.signature(MPI_DATATYPE_NULL).error().kind == ErrorKind::type);
    const auto failed = file_layout(MPI_INT, [](const Element&) {
        return Result<Bytes>(Error::make(ErrorKind::conversion, "no"));
    });
    CHECK(!failed.ok() && failed.error().kind == ErrorKind::conversion);
}

void the_datatype_keeps_its_signature(Decoder& decoder) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(5, MPI_INT, &type);
    std::weak_ptr<const Signature> kept = *decoder.signature(type);
    CHECK(!kept.expired() && *decoder.signature(type) == kept.lock());
    MPI_Type_free(&type);
    CHECK(kept.expired());
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio;
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    {
        auto decoder = Decoder::make();
        CHECK(decoder.ok());
        const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
        const std::uint64_t seeds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
        for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
            a_file_of_memorys_sizes_is_laid_out_as_memory(**decoder, seed);
            larger_members_are_further_apart(**decoder, seed);
            if (kOpenMpi) random_data_is_packed_as_the_host_packs_it(**decoder, seed);
        }
        pairs_have_no_padding();
        pairs_without_a_name_are_laid_out_as_those_with_one(**decoder);
        precisions_have_the_sizes_of_the_standard();
        bounds_that_were_set_count_alone();
        a_vector_of_longs_is_half_as_long_in_the_file();
        null_and_failing_sizes_are_errors(**decoder);
        the_datatype_keeps_its_signature(**decoder);
    }
    const int code = verdict("file_layout");
    MPI_Finalize();
    return code;
}
