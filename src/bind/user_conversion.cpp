// SPDX-License-Identifier: BSD-3-Clause
#include "bind/user_conversion.hpp"

#include <algorithm>
#include <map>

#include "mpi/elements.hpp"
#include "type/copy.hpp"
#include "type/external32.hpp"

namespace oratorio::bind {

namespace {

/// Maximum number of data items in one call. It fits the int of functions without large counts.
constexpr std::int64_t kItemsPerCall = std::int64_t{1} << 20;

Result<Bytes> extent_of(const UserRepresentation& representation, MPI_Datatype type) {
    MPI_Aint extent = 0;
    if (representation.extent(type, &extent) != MPI_SUCCESS)
        return Error::make(ErrorKind::conversion, "the representation's extent function failed");
    if (extent <= 0) {
        return Error::make(
            ErrorKind::conversion,
            "the representation's extent function returned an extent that is not positive");
    }
    return Bytes{extent};
}

class UserConversion final : public Conversion {
  public:
    /// `native_sizes` is true if every element has the same length in the file as in memory.
    UserConversion(const UserRepresentation& representation, HeldType type, const Layout& memory,
                   SignaturePtr data, bool native_sizes)
        : representation_(representation),
          type_(std::move(type)),
          memory_(memory),
          data_(std::move(data)),
          native_sizes_(native_sizes) {}

    [[nodiscard]] Bytes file_bytes() const override { return data_->total().file; }
    [[nodiscard]] Extent memory_part(Extent file_part) const override {
        return oratorio::memory_part(*data_, file_part);
    }

    Error to_file(const std::byte* user, std::span<std::byte> file) override {
        const ConversionFunction& write = representation_.write;
        // The conversion functions of MPI take a source that isn't const.
        if (write)
            return convert(write, const_cast<std::byte*>(user), file.data(), {},
                           data_->total().elements);
        if (!native_sizes_) return no_function();
        Cursor memory(memory_);
        gather_bytes(memory, user, file);
        return {};
    }

    Error to_memory(std::span<const std::byte> file, Bytes from, std::byte* user) override {
        const ConversionFunction& read = representation_.read;
        const Amount first = data_->before(from);
        const Amount last = data_->first(&Amount::file, from + std::ssize(file));
        if (last.elements <= first.elements) return {};
        const auto whole = file.subspan(static_cast<std::size_t>(first.file - from),
                                        static_cast<std::size_t>(last.file - first.file));
        if (read)
            return convert(read, user, const_cast<std::byte*>(whole.data()), first, last.elements);
        if (!native_sizes_) return no_function();
        Cursor memory(memory_);
        memory.seek_size(first.memory);
        scatter_bytes(memory, user, whole);
        return {};
    }

  private:
    static Error no_function() {
        return Error::make(ErrorKind::conversion,
                           "the representation has no conversion function, but its sizes differ "
                           "from those in memory");
    }

    /// Converts the items from number first.elements up to, but not including, number `end`. `file`
    /// holds the file data from the first of these items on. Each call of `function` continues
    /// where the last one ended; its position counts items.
    Error convert(const ConversionFunction& function, std::byte* user, std::byte* file,
                  const Amount& first, std::int64_t end) {
        for (std::int64_t position = first.elements; position < end;) {
            const std::int64_t count = std::min(end - position, kItemsPerCall);
            std::byte* from = file + (data_->first(&Amount::elements, position).file - first.file);
            const int code = function(user, type_.get(), count, from, position);
            if (code != MPI_SUCCESS) {
                return Error::make(ErrorKind::conversion,
                                   "the representation's conversion function failed");
            }
            position += count;
        }
        return {};
    }

    const UserRepresentation& representation_;
    HeldType type_;
    Layout memory_;
    SignaturePtr data_;
    bool native_sizes_;
};

}  // namespace

FileSize sizes_in(const UserRepresentation& representation) {
    return [&representation, known = std::map<std::uintptr_t, Bytes>()](
               const Element& element) mutable -> Result<Bytes> {
        Bytes& extent = known[element.name];
        if (extent == 0) {
            const auto asked = extent_of(representation, type_named(element.name));
            if (!asked) return asked;
            extent = *asked;
        }
        return extent;
    };
}

Result<std::shared_ptr<Conversion>> user_conversion(const UserRepresentation& representation,
                                                    MPI_Datatype type, const Layout& memory,
                                                    const SignaturePtr& item) {
    bool native_sizes = true;
    const auto sized = with_file_sizes(
        item, [&native_sizes, sizes = sizes_in(representation)](const Element& element) {
            auto bytes = sizes(element);
            native_sizes = native_sizes && bytes && *bytes == element.memory;
            return bytes;
        });
    if (!sized) return sized.error();
    SignaturePtr data = Signature::repeated(*sized, memory.count);
    if (data->total().memory == INT64_MAX || data->total().file == INT64_MAX)
        return Error::make(ErrorKind::count,
                           "access: count times the size of the datatype is too large");
    auto held = HeldType::duplicate(type);
    if (!held) return held.error();
    return std::shared_ptr<Conversion>(std::make_shared<UserConversion>(
        representation, std::move(*held), memory, std::move(data), native_sizes));
}

}  // namespace oratorio::bind
