// SPDX-License-Identifier: BSD-3-Clause
// The store over pread, pwrite and their vectored forms: a request is done when submit returns.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "store/descriptor_store.hpp"
#include "store/staged.hpp"

namespace oratorio {
namespace {

class PosixStore final : public DescriptorStore {
  public:
    using DescriptorStore::DescriptorStore;

    Submitted submit(const IoRequest& request) override {
        if (waiting_) return Submitted::full;
        const bool direct = goes_direct(request);
        ssize_t moved = move(request, descriptor(direct));
        if (direct && moved < 0 && errno == EINVAL) {
            give_up_direct();
            moved = move(request, descriptor());
        }
        completion_ = {request.token, std::max<ssize_t>(moved, 0), moved < 0 ? errno : 0};
        waiting_ = true;
        return Submitted::done;
    }

    std::size_t reap(std::span<IoCompletion> out, bool) override {
        if (!waiting_ || out.empty()) return 0;
        out[0] = completion_;
        waiting_ = false;
        return 1;
    }

    Result<std::unique_ptr<Store>> duplicate() override {
        auto another = duplicate_file();
        if (!another) return another.error();
        return make_posix(std::move(*another), mode());
    }

  private:
    // Of one piece by the calls that take no list: the kernel then copies none, a tenth of a small
    // write.
    ssize_t move(const IoRequest& request, int file) {
        const bool read = request.direction == Direction::read;
        const Offset offset = request.offset;
        const auto count = static_cast<int>(request.memory.size());
        if (count != 1) {
            const iovec* const memory = request.memory.data();
            return read ? ::preadv(file, memory, count, offset)
                        : ::pwritev(file, memory, count, offset);
        }
        const auto [data, length] = request.memory.front();
        const std::span memory(static_cast<std::byte*>(data), length);
        if (Stage::is_better(request.direction, memory, offset) && stage_.prepare())
            return stage_.move(request.direction, memory, offset, file);
        return read ? ::pread(file, data, length, offset) : ::pwrite(file, data, length, offset);
    }

    Stage stage_;
    IoCompletion completion_;  // of the one request that may be outstanding
    bool waiting_ = false;
};

}  // namespace

std::unique_ptr<Store> make_posix(OpenedFile file, const OpenMode& mode) {
    return std::make_unique<PosixStore>(std::move(file), mode);
}

Result<std::unique_ptr<Store>> open_posix(const std::string& path, const OpenMode& mode) {
    auto file = open_descriptor(path, mode);
    if (!file) return file.error();
    return make_posix(std::move(*file), mode);
}

}  // namespace oratorio
