// SPDX-License-Identifier: BSD-3-Clause
// The store over pread, pwrite and their vectored forms: a request is complete when submit returns.
#include <cerrno>
#include <utility>

#include "store/descriptor_store.hpp"
#include "store/transfer_calls.hpp"

namespace oratorio {
namespace {

class PosixStore final : public DescriptorStore {
  public:
    using DescriptorStore::DescriptorStore;

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
