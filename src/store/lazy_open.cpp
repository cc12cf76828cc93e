// SPDX-License-Identifier: BSD-3-Clause
#include "store/lazy_open.hpp"

#include <cerrno>
#include <deque>
#include <utility>

namespace oratorio {
namespace {

class LazyStore final : public Store {
  public:
    explicit LazyStore(OpenStore open) : opens_(std::move(open)) {}

    [[nodiscard]] bool is_open() const override { return store_ != nullptr; }
    [[nodiscard]] const StoreFacts& facts() const override {
        return store_ != nullptr ? store_->facts() : Store::facts();
    }

    Result<void> prepare() override {
        if (store_ != nullptr) return {};
        auto opened = opens_();
        if (!opened) {
            const Error& error = opened.error();
            errno_ = error.system_errno != 0 ? error.system_errno : EIO;
            // Requests report only errno_, and ESTALE would give their error another kind.
            if (error.kind == ErrorKind::no_such_file) errno_ = ENOENT;
            return error;
        }
        store_ = std::move(*opened);
        return {};
    }

    Submitted submit(const IoRequest& request) override {
        if (store_ == nullptr) {
            // The default limits() allow one request at a time.
            if (!refused_.empty()) return Submitted::full;
            refused_.push_back(request.token);
            return Submitted::done;
        }
        return store_->submit(request);
    }

    std::size_t reap(std::span<IoCompletion> out, bool wait) override {
        std::size_t count = 0;
        for (; count < out.size() && !refused_.empty(); refused_.pop_front()) {
            out[count++] = {refused_.front(), 0, errno_};
        }
        return count > 0 || store_ == nullptr ? count : store_->reap(out, wait);
    }

    void finish_jobs() override {
        if (store_ != nullptr) store_->finish_jobs();
    }
    [[nodiscard]] std::uint64_t lost_writes() const override {
        return store_ != nullptr ? store_->lost_writes() : 0;
    }
    Result<void> flush_series(std::uint64_t lost_before) override {
        return store_ != nullptr ? store_->flush_series(lost_before) : Result<void>();
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
    OpenStore opens_;
    std::unique_ptr<Store> store_;  // null until opened
    int errno_ = EBADF;             // error number of requests until store_ is opened
    std::deque<std::uint64_t> refused_;
};

}  // namespace

std::unique_ptr<Store> open_lazily(OpenStore open) {
    return std::make_unique<LazyStore>(std::move(open));
}

}  // namespace oratorio
