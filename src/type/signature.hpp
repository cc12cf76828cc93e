// SPDX-License-Identifier: BSD-3-Clause
// Signature: what a datatype's data consists of, without where it lies: its elements in data order
// (the type signature of MPI-4.1, 5.1), with their sizes in memory and in a file's representation.
// An immutable nest of repetitions that doesn't grow with counts, and stays shallow however deeply
// datatypes are nested (decision 0055), so that functions may recurse over it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "type/scalar.hpp"

namespace oratorio {

/// One entry of a typemap: a predefined datatype.
struct Element {
    ScalarKind kind = ScalarKind::none;  ///< of its scalars in external32
    int scalars = 1;                     ///< 2: complex
    Bytes memory = 0;
    Bytes file = 0;           ///< in external32 unless with_file_sizes() changed it; 0: it has none
    std::uintptr_t name = 0;  ///< for whoever made the signature to know the datatype by

    bool operator==(const Element&) const = default;
};

/// How much data, in three units. Sums and products that don't fit are INT64_MAX.
struct Amount {
    std::int64_t elements = 0;
    Bytes memory = 0;
    Bytes file = 0;

    Amount& operator+=(const Amount& other);
    bool operator==(const Amount&) const = default;
};
[[nodiscard]] Amount operator*(const Amount& amount, std::int64_t count);

class Signature;
using SignaturePtr = std::shared_ptr<const Signature>;

class Signature {
  public:
    /// `count` times an element, or times a nested signature when there is one.
    struct Part {
        Element element;
        SignaturePtr nested;
        std::int64_t count = 0;

        [[nodiscard]] Amount each() const;
    };

    static SignaturePtr empty();
    static SignaturePtr of(const Element& element);
    static SignaturePtr repeated(const SignaturePtr& signature, std::int64_t count);
    /// One after the other. Equal neighbours become one part; what has no data in memory is left
    /// out.
    static SignaturePtr sequence(std::vector<Part> parts);

    [[nodiscard]] std::span<const Part> parts() const { return parts_; }
    [[nodiscard]] const Amount& total() const { return total_; }
    /// Levels of nesting: 1 without a nested signature.
    [[nodiscard]] int depth() const { return depth_; }
    /// Every element has a size in the file.
    [[nodiscard]] bool has_file_form() const { return has_file_form_; }
    /// The whole elements at the begin that make at most `limit` of a measure: &Amount::elements,
    /// &Amount::memory or &Amount::file.
    [[nodiscard]] Amount first(std::int64_t Amount::*measure, std::int64_t limit) const;
    /// What comes before the first element that begins at or after position `at` of the file's
    /// data; all where there is none.
    [[nodiscard]] Amount before(Bytes at) const;

  private:
    [[nodiscard]] static std::optional<std::size_t> part_to_take(const std::vector<Part>& parts);
    void append(Part part);

    std::vector<Part> parts_;
    Amount total_;
    int depth_ = 1;
    bool has_file_form_ = true;
};

/// Bytes of an element in the file.
using FileSize = std::function<Result<Bytes>(const Element&)>;
/// The same data with other sizes in the file.
[[nodiscard]] Result<SignaturePtr> with_file_sizes(const SignaturePtr& signature,
                                                   const FileSize& size);

/// Walks the elements in data order. Needs a signature with a file form whose total fits its units.
class SignatureCursor {
  public:
    explicit SignatureCursor(SignaturePtr signature);

    struct Run {
        const Element* element = nullptr;
        std::int64_t count = 0;
    };
    /// The next equal elements, whole ones within both limits; a count of 0 at the end and when not
    /// one fits.
    Run next(Bytes memory_max, Bytes file_max);
    /// Moves to the element that has `elements` elements before it.
    void seek(std::int64_t elements);

  private:
    struct Level {
        const Signature* signature;
        std::int64_t copies;  ///< this one and those to come
        std::size_t part;
    };
    [[nodiscard]] const Signature::Part* settle();

    SignaturePtr root_;
    std::vector<Level> stack_;
    std::int64_t taken_ = 0;  ///< elements of the part we are in
};

}  // namespace oratorio
