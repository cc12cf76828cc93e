// SPDX-License-Identifier: BSD-3-Clause
// FileModel: the expected bytes of a file. UserMemory: a user's buffer with gaps that must not
// change.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/mapped_type.hpp"

namespace oratorio::test {

/// The expected bytes of a file from offset `base` on. The test writes nothing before `base`.
struct FileModel {
    MPI_Offset base = 0;
    MPI_Offset size = 0;
    std::vector<unsigned char> bytes;
    std::vector<bool> written;

    void put(MPI_Offset offset, unsigned char value) {
        const auto at = static_cast<std::size_t>(offset - base);
        if (at >= bytes.size()) {
            bytes.resize(2 * at + 1);
            written.resize(2 * at + 1);
        }
        bytes[at] = value;
        written[at] = true;
        size = std::max(size, offset + 1);
    }
    unsigned char get(MPI_Offset offset) const {
        const auto at = static_cast<std::size_t>(offset - base);
        return offset >= base && at < bytes.size() ? bytes[at] : 0;
    }
    bool is_written(MPI_Offset offset) const {
        const auto at = static_cast<std::size_t>(offset - base);
        return offset >= base && at < bytes.size() && written[at];
    }
};

/// A buffer for `count` elements of the memory type, with space around them.
class UserMemory {
  public:
    UserMemory(MappedType type, int count) : count_(count), type_(std::move(type)) {
        MPI_Aint low = 0, high = 0;
        for (int i = 0; i < count_; ++i) {
            for (const MappedType::Block& block : type_.map()) {
                const MPI_Aint at = i * type_.extent() + block.at;
                low = std::min(low, at);
                high = std::max(high, at + block.length);
                for (MPI_Aint k = 0; k < block.length; ++k) places_.push_back(at + k);
            }
        }
        begin_ = kRoom - low;
        bytes_.assign(static_cast<std::size_t>(begin_ + high + kRoom), kUntouched);
    }
    unsigned char* address() { return bytes_.data() + begin_; }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_.handle(); }
    MPI_Aint size() const { return static_cast<MPI_Aint>(places_.size()); }
    unsigned char& operator[](MPI_Aint i) {
        return address()[places_[static_cast<std::size_t>(i)]];
    }
    /// Returns true if no byte other than the data has changed.
    bool rest_untouched() {
        std::vector<unsigned char> copy = bytes_;
        for (const MPI_Aint place : places_)
            copy[static_cast<std::size_t>(begin_ + place)] = kUntouched;
        return std::all_of(copy.begin(), copy.end(), [](auto byte) { return byte == kUntouched; });
    }

  private:
    static constexpr MPI_Aint kRoom = 64;
    static constexpr unsigned char kUntouched = 0xa5;
    int count_;
    MappedType type_;
    std::vector<MPI_Aint> places_;
    MPI_Aint begin_ = 0;
    std::vector<unsigned char> bytes_;
};

}  // namespace oratorio::test
