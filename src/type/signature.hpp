// SPDX-License-Identifier: BSD-3-Clause
// Signature: the data of a datatype without its layout: the elements in data order (the type
// signature of MPI-4.1, 5.1), with their sizes in memory and in a file's representation. An
// immutable nest of repetitions that doesn't grow with counts. It stays shallow however deeply
// datatypes are nested (docs/internals/decisions/layouts-and-conversion.md), so functions may
// recurse over it.
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
    ScalarKind kind = ScalarKind::none;  ///< kind of the element's scalars
    int scalars = 1;                     ///< number of scalars; 2 for complex numbers
    Bytes memory = 0;
    /// Size in external32, unless with_file_sizes() changed it; 0: no form in the file.
    Bytes file = 0;
    std::uintptr_t name = 0;  ///< identifies the datatype to the code that made the signature

    bool operator==(const Element&) const = default;
};

/// An amount of data in three units. Sums and products that don't fit are INT64_MAX.
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
    /// `count` copies of an element, or of a nested signature if there is one.
    struct Part {
        Element element;
        SignaturePtr nested;
        std::int64_t count = 0;

        [[nodiscard]] Amount each() const;
    };

    static SignaturePtr empty();
    static SignaturePtr of(const Element& element);
    static SignaturePtr repeated(const SignaturePtr& signature, std::int64_t count);
    /// Makes a signature of the parts, in their order. Joins equal neighbours, leaves out parts
    /// without data in memory, and may replace a nested signature by its parts.
    static SignaturePtr sequence(std::vector<Part> parts);

    [[nodiscard]] std::span<const Part> parts() const { return parts_; }
    [[nodiscard]] const Amount& total() const { return total_; }
    /// Returns the number of levels of nesting: 1 without a nested signature.
    [[nodiscard]] int depth() const { return depth_; }
    /// Returns true if every element has a size in the file.
    [[nodiscard]] bool has_file_form() const { return has_file_form_; }
    /// Returns the amount of the longest prefix of whole elements that has at most `limit` of one
    /// measure: &Amount::elements, &Amount::memory or &Amount::file.
    [[nodiscard]] Amount first(std::int64_t Amount::*measure, std::int64_t limit) const;
    /// Returns the amount of the elements before the first one that begins at or after position
    /// `at` of the file's data; the total if there is no such element.
    [[nodiscard]] Amount before(Bytes at) const;

  private:
    [[nodiscard]] static std::optional<std::size_t> part_to_take(const std::vector<Part>& parts);
    void append(Part part);

    std::vector<Part> parts_;
    Amount total_;
    int depth_ = 1;
    bool has_file_form_ = true;
};

/// A function that returns the size of an element in the file.
using FileSize = std::function<Result<Bytes>(const Element&)>;
/// Returns a signature of the same data in which `size` gives the elements' sizes in the file.
/// Fails with the first error that `size` returns.
[[nodiscard]] Result<SignaturePtr> with_file_sizes(const SignaturePtr& signature,
                                                   const FileSize& size);

/// Walks the elements in data order. REQUIRES: the signature has a file form, and its total is
/// below INT64_MAX in each unit.
class SignatureCursor {
  public:
    explicit SignatureCursor(SignaturePtr signature);

    struct Run {
        const Element* element = nullptr;
        std::int64_t count = 0;
    };
    /// Takes the next equal elements: as many whole elements as both limits allow. The count is 0
    /// at the end, and if not even one element fits the limits.
    Run next(Bytes memory_max, Bytes file_max);
    /// Seeks to the element with `elements` elements before it.
    void seek(std::int64_t elements);

  private:
    struct Level {
        const Signature* signature;
        std::int64_t copies;  ///< copies left, including the current one
        std::size_t part;
    };
    [[nodiscard]] const Signature::Part* settle();

    SignaturePtr root_;
    std::vector<Level> stack_;
    std::int64_t taken_ = 0;  ///< number of elements of the current part that are taken
};

}  // namespace oratorio
