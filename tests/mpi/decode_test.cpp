// SPDX-License-Identifier: BSD-3-Clause
// A decoded datatype visits the bytes of the user's buffer in the order in which the host's
// MPI_Pack reads them, and a long list takes little memory. usage: decode_test [first seed [seeds]]
#include "mpi/decode.hpp"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/elements.hpp"
#include "mpi/file_layout.hpp"
#include "mpi/random_type.hpp"
#include "support/random.hpp"
#include "type/cursor.hpp"

namespace {

/// Counts heap memory of this program and of the code linked into it statically; the host's memory
/// does not count.
struct Heap {
    std::size_t in_use = 0;
    std::size_t most_in_use = 0;
    int long_blocks = 0;  ///< number of long blocks allocated so far
};
Heap heap;
constexpr std::size_t kLong = std::size_t{64} << 10;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    void* const memory = std::malloc(size);
    if (memory == nullptr) std::abort();
    heap.in_use += malloc_usable_size(memory);
    heap.most_in_use = std::max(heap.most_in_use, heap.in_use);
    heap.long_blocks += size >= kLong ? 1 : 0;
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    if (memory != nullptr) heap.in_use -= malloc_usable_size(memory);
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}

namespace oratorio::test {
namespace {

constexpr Bytes kLargest = Bytes{1} << 20;  ///< size of a buffer; larger types are skipped

struct Bounds {
    MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;

    explicit Bounds(MPI_Datatype type) {
        MPI_Type_size_x(type, &size);
        MPI_Type_get_extent_x(type, &lower, &extent);
        MPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
    }
    /// Checks that the host's true bounds enclose the data; some hosts leave space around it for
    /// empty parts.
    [[nodiscard]] bool enclose(const Shape& shape) const {
        return size == 0 ||
               (true_lower <= shape.span().begin && shape.span().end <= true_lower + true_extent);
    }
    /// Returns the range from the first to the last byte of `count` elements.
    [[nodiscard]] Extent touched(int count) const {
        const MPI_Count last = (count - 1) * extent;
        return {true_lower + std::min<MPI_Count>(last, 0),
                true_lower + true_extent + std::max<MPI_Count>(last, 0)};
    }
};

/// Returns the offsets of the data bytes in the order of MPI_Pack. Each byte of the buffer must
/// encode its offset; as one byte can't hold it, the buffer is packed once for each byte of the
/// 32-bit offset.
std::vector<Offset> packed_offsets(MPI_Datatype type, int count, Extent touched, Bytes size) {
    std::vector<unsigned char> buffer(static_cast<std::size_t>(touched.length()));
    std::vector<Offset> offsets(static_cast<std::size_t>(size * count));
    int room = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &room);
    std::vector<unsigned char> packed(static_cast<std::size_t>(room) + 1);
    for (int plane = 0; plane < 4; ++plane) {
        for (std::size_t at = 0; at < buffer.size(); ++at)
            buffer[at] = static_cast<unsigned char>(at >> (8 * plane));
        int position = 0;
        MPI_Pack(buffer.data() - touched.begin, count, type, packed.data(), room, &position,
                 MPI_COMM_SELF);
        CHECK(position == size * count);
        for (std::size_t i = 0; i < offsets.size(); ++i)
            offsets[i] |= Offset{packed[i]} << (8 * plane);
    }
    for (Offset& offset : offsets) offset += touched.begin;
    return offsets;
}

std::vector<Offset> decoded_offsets(const DecodedType& decoded, int count) {
    std::vector<Offset> offsets;
    Cursor cursor(Layout{decoded.shape, decoded.extent, 0, count});
    while (!cursor.at_end()) {
        const StridedRun run = cursor.next();
        for (std::int64_t piece = 0; piece < run.count; ++piece)
            for (Offset at = 0; at < run.length; ++at)
                offsets.push_back(run.offset + piece * run.stride + at);
    }
    return offsets;
}

/// Compares the decoded type with what the host's MPI_Pack reads. REQUIRES: `type` is committed.
void check_type(Decoder& decoder, MPI_Datatype type, const std::string& made) {
    const Bounds bounds(type);
    const auto decoded = decoder.decode(type);
    const int before = failures;
    CHECK(decoded.ok());
    if (decoded) {
        CHECK(decoded->size == bounds.size);
        CHECK(decoded->lower_bound == bounds.lower);
        CHECK(decoded->extent == bounds.extent);
        CHECK(bounds.enclose(*decoded->shape));
        for (const int count : {1, 3}) {
            const Extent touched = bounds.touched(count);
            if (bounds.size == 0 || touched.length() > kLargest) continue;
            CHECK(decoded_offsets(*decoded, count) ==
                  packed_offsets(type, count, touched, bounds.size));
        }
    }
    if (failures > before)
        std::fprintf(
            stderr, "  of %s, extent %lld, true bounds %lld+%lld\n  decoded %s\n", made.c_str(),
            static_cast<long long>(bounds.extent), static_cast<long long>(bounds.true_lower),
            static_cast<long long>(bounds.true_extent),
            decoded ? decoded->shape->describe().c_str() : describe(decoded.error(), "").c_str());
}

void random_types_match_pack(Decoder& decoder, std::uint64_t first, std::uint64_t seeds) {
    std::uint64_t built = 0;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        RandomTypes random(seed);
        std::string made = "seed " + std::to_string(seed) + ": ";
        MPI_Datatype type = random.derived(1 + static_cast<int>(seed % 4), made);
        if (seeds == 1) std::fprintf(stderr, "%s\n", made.c_str());
        if (type == MPI_DATATYPE_NULL) continue;  // the host can't make this type
        ++built;
        MPI_Type_commit(&type);
        check_type(decoder, type, made);
        if (!is_predefined(type)) MPI_Type_free(&type);
    }
    CHECK(10 * built >= 9 * seeds);
}

void every_predefined_type_matches_pack(Decoder& decoder) {
    const MPI_Datatype types[] = {MPI_BYTE,          MPI_PACKED,
                                  MPI_CHAR,          MPI_SIGNED_CHAR,
                                  MPI_UNSIGNED_CHAR, MPI_SHORT,
                                  MPI_INT,           MPI_LONG,
                                  MPI_LONG_LONG,     MPI_UNSIGNED,
                                  MPI_FLOAT,         MPI_DOUBLE,
                                  MPI_WCHAR,         MPI_INT8_T,
                                  MPI_INT16_T,       MPI_INT32_T,
                                  MPI_INT64_T,       MPI_LONG_DOUBLE,
                                  MPI_AINT,          MPI_OFFSET,
                                  MPI_COUNT,         MPI_C_BOOL,
                                  MPI_C_COMPLEX,     MPI_C_DOUBLE_COMPLEX,
                                  MPI_SHORT_INT,     MPI_LONG_INT,
                                  MPI_FLOAT_INT,     MPI_DOUBLE_INT,
                                  MPI_2INT,          MPI_LONG_DOUBLE_INT,
                                  MPI_INTEGER,       MPI_REAL,
                                  MPI_COMPLEX,       MPI_DOUBLE_PRECISION,
                                  MPI_LOGICAL,       MPI_CHARACTER};
    for (std::size_t i = 0; i < std::size(types); ++i)
        if (types[i] != MPI_Datatype{} && types[i] != MPI_DATATYPE_NULL)
            check_type(decoder, types[i], "predefined " + std::to_string(i));
}

void null_is_an_error(Decoder& decoder) {
    const auto decoded = decoder.decode(MPI_DATATYPE_NULL);
    CHECK(!decoded && decoded.error().kind == ErrorKind::type);
}

/// Decodes a datatype twice: the second decode only looks the shape up. A copy of the datatype
/// shares the shape, and freeing both datatypes releases it.
void the_datatype_keeps_its_shape(Decoder& decoder) {
    MPI_Datatype type = MPI_DATATYPE_NULL, copy = MPI_DATATYPE_NULL;
    MPI_Type_vector(5, 1, 3, MPI_INT, &type);
    std::weak_ptr<const Shape> kept = decoder.decode(type)->shape;
    CHECK(!kept.expired());
    CHECK(decoder.decode(type)->shape == kept.lock());
    MPI_Type_dup(type, &copy);
    CHECK(decoder.decode(copy)->shape == kept.lock());
    MPI_Type_free(&type);
    CHECK(decoder.decode(copy)->shape == kept.lock());
    MPI_Type_free(&copy);
    CHECK(kept.expired());
}

/// Pieces of 8 to 64 bytes at irregular distances.
struct IrregularList {
    static constexpr int kPieces = 300'000;
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;

    IrregularList() {
        Random random(5);
        MPI_Aint at = 0;
        for (int i = 0; i < kPieces; ++i) {
            const std::uint64_t number = random.next();
            lengths.push_back(8 * (1 + static_cast<int>(number % 8)));
            places.push_back(at);
            at += lengths.back() + 4 * (1 + static_cast<int>(number / 8 % 8));
        }
    }
    [[nodiscard]] MPI_Datatype by_int() const {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed(kPieces, lengths.data(), places.data(), MPI_BYTE, &type);
        return type;
    }
    /// Returns a type made with the large-count call if the host has it, else that of by_int().
    [[nodiscard]] MPI_Datatype by_count() const {
        if (host().Type_get_envelope_c == nullptr) return by_int();
#if MPI_VERSION >= 4
        const std::vector<MPI_Count> long_lengths(lengths.begin(), lengths.end());
        const std::vector<MPI_Count> long_places(places.begin(), places.end());
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed_c(kPieces, long_lengths.data(), long_places.data(), MPI_BYTE,
                                   &type);
        return type;
#else
        return by_int();
#endif
    }
};

/// Checks that decoding, including the lists that the host returns, takes at most twice the memory
/// of the shape, which stores an offset and a length per piece. After the first datatype, decoding
/// allocates no long block.
void a_long_list_takes_no_more_than_twice_its_memory(Decoder& decoder,
                                                     const std::function<MPI_Datatype()>& made) {
    constexpr std::size_t kLists = 16 * IrregularList::kPieces;
    constexpr std::size_t kRest = std::size_t{32}
                                  << 10;  // allowance for page rounding and small blocks
    const std::size_t before = heap.in_use;
    auto kept = decoder.keep_memory();
    for (int i = 0; i < 3; ++i) {
        MPI_Datatype type = made();
        heap.most_in_use = heap.in_use;
        const int long_blocks = heap.long_blocks;
        const auto shape = decoder.decode(type)->shape;
        CHECK(shape->pieces() == IrregularList::kPieces);
        CHECK(heap.most_in_use - before <= 2 * kLists + kRest);
        if (i > 0) CHECK(heap.long_blocks == long_blocks);
        MPI_Type_free(&type);
    }
    CHECK(heap.in_use - before > kLists);
    kept.reset();
    CHECK(heap.in_use - before < kRest);
    MPI_Datatype type = made();
    CHECK(decoder.decode(type)->shape->pieces() == IrregularList::kPieces);
    MPI_Type_free(&type);
    CHECK(heap.in_use - before < kRest);
}

/// Applies `derive` `levels` times, each time to the result of the previous application.
MPI_Datatype nested(int levels, const std::function<MPI_Datatype(MPI_Datatype, int)>& derive) {
    MPI_Datatype type = MPI_INT;
    for (int level = 0; level < levels; ++level) {
        MPI_Datatype next = derive(type, level);
        if (level > 0) MPI_Type_free(&type);
        type = next;
    }
    return type;
}

MPI_Datatype copy_of(MPI_Datatype type, int level) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (level % 3 == 0) MPI_Type_dup(type, &made);
    if (level % 3 == 1) MPI_Type_contiguous(1, type, &made);
    if (level % 3 == 2) MPI_Type_create_hvector(1, 1, 8, type, &made);
    return made;
}

/// Adds a field to the type, a char or a double in turn, so that neighbours differ.
MPI_Datatype with_field(MPI_Datatype type, int level) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 8 * (level + 1)};
    MPI_Datatype types[] = {type, level % 2 == 0 ? MPI_CHAR : MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, types, &made);
    return made;
}

struct DeepType {
    Decoder& decoder;
    MPI_Datatype type;
    Bytes size;
};

void decode_deep(const DeepType& deep) {
    const auto decoded = deep.decoder.decode(deep.type);
    CHECK(decoded.ok() && decoded->shape->size() == deep.size && decoded->shape->depth() < 100);
    const auto signature = deep.decoder.signature(deep.type);
    CHECK(signature.ok() && (*signature)->total().memory == deep.size);
    const auto in_file = file_layout(
        deep.type, [](const Element& element) { return Result<Bytes>(element.memory); });
    CHECK(in_file.ok() && in_file->shape->size() == deep.size);
}

/// Decodes deeply nested datatypes in a thread with 256 KiB of stack.
void deep_types_need_little_stack(Decoder& decoder) {
    constexpr int kCopies = 10'000;
    constexpr int kStructs = 2000;
    const DeepType all[] = {{decoder, nested(kCopies, copy_of), 4},
                            {decoder, nested(kStructs, with_field), 4 + kStructs / 2 * 9}};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    for (DeepType deep : all) {
        pthread_t thread;
        const auto run = [](void* argument) -> void* {
            decode_deep(*static_cast<const DeepType*>(argument));
            return nullptr;
        };
        CHECK(pthread_create(&thread, &attributes, run, &deep) == 0);
        CHECK(pthread_join(thread, nullptr) == 0);
        MPI_Type_free(&deep.type);
    }
    pthread_attr_destroy(&attributes);
}

/// Makes a datatype that reaches further than 2^62 bytes.
void types_that_reach_too_far_are_refused(Decoder& decoder) {
    constexpr MPI_Aint kFar = MPI_Aint{1} << 62;
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, kFar};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type) != MPI_SUCCESS) return;
    const auto decoded = decoder.decode(type);
    CHECK(!decoded && decoded.error().kind == ErrorKind::type);
    MPI_Type_free(&type);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio;
    using namespace oratorio::test;
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    {
        auto decoder = Decoder::make();
        CHECK(decoder.ok());
        const auto argument = [&](int i, std::uint64_t otherwise) {
            return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
        };
        every_predefined_type_matches_pack(**decoder);
        random_types_match_pack(**decoder, argument(1, 1), argument(2, 3000));
        null_is_an_error(**decoder);
        deep_types_need_little_stack(**decoder);
        types_that_reach_too_far_are_refused(**decoder);
        the_datatype_keeps_its_shape(**decoder);
        const IrregularList list;
        a_long_list_takes_no_more_than_twice_its_memory(**decoder, [&] { return list.by_int(); });
        a_long_list_takes_no_more_than_twice_its_memory(**decoder, [&] { return list.by_count(); });
    }
    const int code = verdict("decode");
    MPI_Finalize();
    return code;
}
