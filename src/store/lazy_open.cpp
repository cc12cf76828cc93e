// SPDX-License-Identifier: BSD-3-Clause
#include "store/lazy_open.hpp"

#include <cerrno>
#include <deque>
#include <utility>

namespace oratorio {
namespace {

class LazyStore final : public Store {
  public:
    explicit LazyStore(OpenStore open) : opens_(std::move(open)) { open_ = false; }

    Result<void> prepare() override {
        if (store_ != nullptr) return {};
        auto opened = opens_();
        if (!opened) {
            const int number = opened.error().system_errno;
            errno_ = number != 0 ? number : EIO;
            return opened.error();
        }
        store_ = std::move(*opened);
        open_ = true;
        limits_ = store_->limits();
        kind_ = store_->kind();
        number_ = store_->number();
        disk_map_ = store_->disk_map();
        prefetch_ = store_->prefetch();
        return {};
    }

    Submitted submit(const IoRequest& request) override {
        if (store_ == nullptr) {
            // The default limits() allow one request at a time.
            if (!refused_.empty()) return Submitted::full;
            refused_.push_back(request.token);
            return Submitted::done;
        }
        const Submitted submitted = store_->submit(request);
        take_over_limits();
        return submitted;
    }

    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        std::size_t count = 0;
        for (; count < out.size() && !refused_.empty(); refused_.pop_front()) {
            out[count++] = {refused_.front(), 0, errno_};
        }
        if (count > 0 || store_ == nullptr) return count;
        count = store_->reap(out, wait);
        take_over_limits();
        return count;
    }

    Result<Bytes> size() override {
        if (auto ready = prepare(); !ready) return ready.error();
        return store_->size();
    }
    Result<void> resize(Bytes bytes, bool allocate) override {
        if (auto ready = prepare(); !ready) return ready;
        return store_->resize(bytes, allocate);
    }
    Result<void> sync() override { return store_ != nullptr ? store_->sync() : Result<void>(); }
    Result<void> lock(Extent range, bool lock, bool exclusive) override {
        if (store_ == nullptr && !lock) return {};
        if (auto ready = prepare(); !ready) return ready;
        return store_->lock(range, lock, exclusive);
    }
    Result<bool> is_locked_elsewhere(Extent range) override {
        if (auto ready = prepare(); !ready) return ready.error();
        return store_->is_locked_elsewhere(range);
    }
    void register_buffers(std::span<std::byte> memory) override {
        if (store_ != nullptr) store_->register_buffers(memory);
    }
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override {
        if (auto ready = prepare(); !ready) return ready.error();
        return store_->map(range, direction, populate);
    }
    Result<std::unique_ptr<Store>> duplicate() override {
        if (auto ready = prepare(); !ready) return ready.error();
        return store_->duplicate();
    }
    Result<void> close() override { return store_ != nullptr ? store_->close() : Result<void>(); }

  private:
    /// Copies the limits of the opened store, which a refused transfer may change.
    void take_over_limits() {
        const StoreLimits& told = store_->limits();
        if (told.direct_read.file != limits_.direct_read.file ||
            told.direct_write.file != limits_.direct_write.file ||
            told.remark.size() != limits_.remark.size())
            limits_ = told;
    }

    OpenStore opens_;
    std::unique_ptr<Store> store_;  // null until opened
    int errno_ = EBADF;             // error number of requests before that
    std::deque<std::uint64_t> refused_;
};

}  // namespace

std::unique_ptr<Store> open_lazily(OpenStore open) {
    return std::make_unique<LazyStore>(std::move(open));
}

}  // namespace oratorio
