// SPDX-License-Identifier: BSD-3-Clause
// The store over pread, pwrite and their vectored forms: a request is complete when submit returns.
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "store/descriptor_store.hpp"
#include "store/transfer_calls.hpp"

namespace oratorio {
namespace {

class PosixStore final : public DescriptorStore {
  public:
    using DescriptorStore::DescriptorStore;

    bool move_piece(Direction direction, Offset offset, const iovec& piece) override {
        const bool reads = direction == Direction::read;
        if (limits().direct(direction).file > 0 || piece.iov_len >= BounceBuffer::kLeast ||
            (reads && limits().size_may_be_old))
            return false;
        const auto moved = reads ? ::pread(descriptor(), piece.iov_base, piece.iov_len, offset)
                                 : ::pwrite(descriptor(), piece.iov_base, piece.iov_len, offset);
        return moved == static_cast<ssize_t>(piece.iov_len);
    }

    Submitted submit(const IoRequest& request) override {
        if (waiting_) return Submitted::full;
        const bool direct = goes_direct(request);
        Answer moved =
            past_locks(request, [&] { return calls_.move(request, descriptor(direct)); });
        if (direct && moved.error_number == EINVAL) {
            give_up_direct();
            moved = past_locks(request, [&] { return calls_.move(request, descriptor()); });
        }
        completion_ = completion_of(request, moved);
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
    TransferCalls calls_;
    IoCompletion completion_;  // completion of the one request that may be outstanding
    bool waiting_ = false;
};

}  // namespace

std::unique_ptr<Store> make_posix(OpenedDescriptor file, const OpenMode& mode) {
    return std::make_unique<PosixStore>(std::move(file), mode);
}

Result<std::unique_ptr<Store>> open_posix(const std::string& path, const OpenMode& mode) {
    auto file = open_descriptor(path, mode);
    if (!file) return file.error();
    return make_posix(std::move(*file), mode);
}

}  // namespace oratorio
