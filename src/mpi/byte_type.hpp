// SPDX-License-Identifier: BSD-3-Clause
// ByteType: the datatype of a message that MpiTransport sends or receives.
#pragma once

#include <climits>
#include <utility>

#include "comm/message_memory.hpp"
#include "mpi/comm.hpp"

namespace oratorio {

/// A count and a datatype that together are the bytes of a message: MPI_BYTE for a block of at most
/// `chunk` bytes, else one element of a type made for the message. The type may be freed as soon as
/// the operation is started.
class ByteType {
  public:
    static Result<ByteType> make(Bytes bytes, Bytes chunk) {
        if (bytes <= chunk) return ByteType(MPI_BYTE, static_cast<int>(bytes));
        const Bytes chunks = bytes / chunk;
        if (chunks > INT_MAX) return Error::make(ErrorKind::count, "message too long");
        MPI_Datatype one = MPI_DATATYPE_NULL;
        if (auto made = check(host().Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &one),
                              "creating a datatype");
            !made)
            return made.error();
        int lengths[2] = {static_cast<int>(chunks), static_cast<int>(bytes % chunk)};
        MPI_Aint offsets[2] = {0, static_cast<MPI_Aint>(chunks * chunk)};
        MPI_Datatype parts[2] = {one, MPI_BYTE};
        ByteType all(MPI_DATATYPE_NULL, 1);
        int code = host().Type_create_struct(2, lengths, offsets, parts, &all.type_);
        if (code == MPI_SUCCESS) code = host().Type_commit(&all.type_);
        host().Type_free(&one);
        if (auto made = check(code, "creating a datatype"); !made) return made.error();
        return all;
    }
    template <class Byte>
    static Result<ByteType> of(const MessageMemory<Byte>& memory, Bytes chunk) {
        return memory.in_pieces() ? make(memory.pieces()) : make(memory.bytes(), chunk);
    }
    /// Makes a type of absolute addresses, for use with MPI_BOTTOM.
    static Result<ByteType> make(const PieceList& pieces) {
        static_assert(sizeof(MPI_Aint) == sizeof(std::intptr_t));
        ByteType all(MPI_DATATYPE_NULL, 1);
        int code = host().Type_create_hindexed(
            static_cast<int>(pieces.lengths.size()), pieces.lengths.data(),
            reinterpret_cast<const MPI_Aint*>(pieces.addresses.data()), MPI_BYTE, &all.type_);
        if (code == MPI_SUCCESS) code = host().Type_commit(&all.type_);
        if (auto made = check(code, "creating a datatype of pieces"); !made) return made.error();
        return all;
    }
    ByteType(ByteType&& other) noexcept
        : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)), count_(other.count_) {}
    ~ByteType() {
        if (type_ != MPI_DATATYPE_NULL && type_ != MPI_BYTE) host().Type_free(&type_);
    }

    [[nodiscard]] MPI_Datatype type() const { return type_; }
    [[nodiscard]] int count() const { return count_; }

  private:
    ByteType(MPI_Datatype type, int count) : type_(type), count_(count) {}
    MPI_Datatype type_;
    int count_;
};

}  // namespace oratorio
