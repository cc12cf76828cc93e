// Decoder: MPI datatypes into shapes.
#pragma once

#include <memory>
#include <mutex>

#include "base/result.hpp"
#include "mpi/host.hpp"
#include "type/shape.hpp"

namespace oratorio {

class DatatypeContents;

/// What a file or memory layout needs to know of a datatype. The true extent is shape->span().
struct DecodedType {
    ShapePtr shape = Shape::empty();
    Bytes size = 0;
    Offset lower_bound = 0;
    Bytes extent = 0;
};

/// Keeps what it found on the datatype itself, as an attribute that copies of the datatype share
/// and that goes with it, so that decoding a type a second time costs one lookup. One per process;
/// thread-safe.
class Decoder {
  public:
    static Result<std::unique_ptr<Decoder>> make();
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    /// The layout of `type`, committed or not. ErrorKind::type for MPI_DATATYPE_NULL and for
    /// constructors that the MPI standard (4.1, 5.1.13) doesn't list.
    [[nodiscard]] Result<DecodedType> decode(MPI_Datatype type);

  private:
    explicit Decoder(int keyval) : keyval_(keyval) {}
    [[nodiscard]] Result<ShapePtr> derived_shape(const DatatypeContents& contents);
    [[nodiscard]] const DecodedType* known(MPI_Datatype type) const;
    Result<DecodedType> remember(MPI_Datatype type, const DecodedType& decoded);

    int keyval_;
    std::mutex cache_;  ///< for looking up and setting the attribute
};

}  // namespace oratorio
