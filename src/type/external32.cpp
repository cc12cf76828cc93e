// SPDX-License-Identifier: BSD-3-Clause
#include "type/external32.hpp"

#include <algorithm>
#include <cstring>

#include "type/copy.hpp"

namespace oratorio {
namespace {

/// Bytes of packed native data held at once; few enough for the caches nearest to the core.
constexpr Bytes kStage = 64 * 1024;

std::span<std::byte> part(const std::unique_ptr<std::byte[]>& stage, Bytes at, Bytes bytes) {
    return {stage.get() + at, static_cast<std::size_t>(bytes)};
}

class External32 final : public Conversion {
  public:
    External32(const Layout& memory, SignaturePtr data) : memory_(memory), data_(std::move(data)) {}

    [[nodiscard]] Bytes file_bytes() const override { return data_->total().file; }
    [[nodiscard]] Extent memory_part(Extent file_part) const override {
        return oratorio::memory_part(*data_, file_part);
    }

    Error to_file(const std::byte* user, std::span<std::byte> file) override {
        const auto stage = std::make_unique_for_overwrite<std::byte[]>(kStage);
        Cursor memory(memory_);
        SignatureCursor elements(data_);
        std::byte* out = file.data();
        Bytes held = 0;  // bytes in `stage` of an element that was cut by the end of the stage
        for (Bytes left = data_->total().memory; left > 0;) {
            const Bytes more = std::min(kStage - held, left);
            gather_bytes(memory, user, part(stage, held, more));
            held += more;
            left -= more;
            Bytes used = 0;
            for (auto run = elements.next(held, INT64_MAX); run.count > 0;
                 run = elements.next(held - used, INT64_MAX)) {
                const Element& element = *run.element;
                if (!to_external32(element.kind, stage.get() + used, out,
                                   run.count * element.scalars))
                    return misfit(element.kind);
                used += run.count * element.memory;
                out += run.count * element.file;
            }
            held -= used;
            std::memmove(stage.get(), stage.get() + used, static_cast<std::size_t>(held));
        }
        return {};
    }

    Error to_memory(std::span<const std::byte> file, Bytes from, std::byte* user) override {
        const Amount before = data_->before(from);
        Bytes left = std::ssize(file) - (before.file - from);
        if (left <= 0) return {};
        const auto stage = std::make_unique_for_overwrite<std::byte[]>(kStage);
        Cursor memory(memory_);
        memory.seek_size(before.memory);
        SignatureCursor elements(data_);
        elements.seek(before.elements);
        Bytes filled = 0;
        while (true) {
            const auto run = elements.next(kStage - filled, left);
            if (run.count == 0) {  // the stage is full, or the data ends
                if (filled == 0) return {};
                scatter_bytes(memory, user, part(stage, 0, filled));
                filled = 0;
                continue;
            }
            const Element& element = *run.element;
            if (!from_external32(element.kind, file.data() + file.size() - left,
                                 stage.get() + filled, run.count * element.scalars))
                return misfit(element.kind);
            filled += run.count * element.memory;
            left -= run.count * element.file;
        }
    }

  private:
    Layout memory_;
    SignaturePtr data_;
};

}  // namespace

Extent memory_part(const Signature& data, Extent file_part) {
    const Bytes begin = data.before(file_part.begin).memory;
    return {begin, std::max(begin, data.first(&Amount::file, file_part.end).memory)};
}

Result<Bytes> external32_size(const Element& element) {
    const Bytes bytes = external32_size(element.kind) * element.scalars;
    if (bytes == 0) return misfit(ScalarKind::none);
    return bytes;
}

Result<std::shared_ptr<Conversion>> external32_conversion(const Layout& memory,
                                                          const SignaturePtr& item) {
    if (!item->has_file_form()) return misfit(ScalarKind::none);
    SignaturePtr data = Signature::repeated(item, memory.count);
    if (data->total().memory == INT64_MAX || data->total().file == INT64_MAX)
        return Error::make(ErrorKind::count,
                           "access: count times the size of the datatype is too large");
    return std::shared_ptr<Conversion>(std::make_shared<External32>(memory, std::move(data)));
}

}  // namespace oratorio
