// SPDX-License-Identifier: BSD-3-Clause
// Decoder: turns MPI datatypes into shapes and signatures.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "memory/block_cache.hpp"
#include "mpi/type_attribute.hpp"
#include "type/shape.hpp"
#include "type/signature.hpp"

namespace oratorio {

class DatatypeContents;

/// The facts about a datatype that file and memory layouts need. The true extent is shape->span().
struct DecodedType {
    ShapePtr shape = Shape::empty();
    Bytes size = 0;
    Offset lower_bound = 0;
    Bytes extent = 0;
};

/// Decodes datatypes and keeps the results of derived ones on the datatype itself, so that decoding
/// such a type a second time costs one lookup. One per process; thread-safe.
class Decoder {
  public:
    static Result<std::unique_ptr<Decoder>> make();

    /// Returns the memory layout of `type`, which may be uncommitted. Returns ErrorKind::type for
    /// MPI_DATATYPE_NULL, for constructors without a rule in combiners.cpp (those in MPI-4.1,
    /// 5.1.13, have one), and for data further than kOffsetLimit from the origin.
    [[nodiscard]] Result<DecodedType> decode(MPI_Datatype type);
    /// Returns the elements that the data of `type` consists of. File sizes are those of
    /// external32, names as in elements.hpp. Fails as decode() does, except that distances have no
    /// limit.
    [[nodiscard]] Result<SignaturePtr> signature(MPI_Datatype type);
    /// Returns the memory for the lists of datatypes. While a caller holds it, the memory is kept
    /// from one datatype to the next.
    [[nodiscard]] std::shared_ptr<BlockCache> keep_memory();

  private:
    using Shapes = TypeAttribute<DecodedType>;
    using Signatures = TypeAttribute<SignaturePtr>;
    Decoder(std::unique_ptr<Shapes> shapes, std::unique_ptr<Signatures> signatures)
        : shapes_(std::move(shapes)), signatures_(std::move(signatures)) {}
    [[nodiscard]] std::shared_ptr<BlockCache> block_cache();
    [[nodiscard]] Result<std::optional<DecodedType>> known_layout(MPI_Datatype type);
    [[nodiscard]] static Result<DecodedType> derived_layout(
        MPI_Datatype type, const DatatypeContents& contents,
        const std::vector<DecodedType>& members, const std::shared_ptr<BlockCache>& memory);
    [[nodiscard]] static Result<SignaturePtr> derived_signature(
        MPI_Datatype type, const DatatypeContents& contents,
        const std::vector<SignaturePtr>& members);

    std::unique_ptr<Shapes> shapes_;
    std::unique_ptr<Signatures> signatures_;
    std::mutex mutex_;  ///< guards memory_
    std::weak_ptr<BlockCache> memory_;
};

}  // namespace oratorio
