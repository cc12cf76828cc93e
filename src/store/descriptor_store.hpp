// SPDX-License-Identifier: BSD-3-Clause
// DescriptorStore: the common base of all stores over a file descriptor. Does everything but move
// bytes.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/system_call.hpp"
#include "store/store.hpp"

namespace oratorio {

/// An open descriptor, and the properties found for its file.
struct OpenedDescriptor : Descriptor {
    FileKind kind = {};
    FileNumber identity = {};
};

/// Opens `path`, with `more` added to the flags of open(2). If mode.known is set, makes no other
/// system call; otherwise finds the file's properties, and refuses a directory as bad_file.
Result<OpenedDescriptor> open_descriptor(const std::string& path, const OpenMode& mode,
                                         int more = 0);

/// Returns the completion of `request` after its system call returned `moved`.
[[nodiscard]] inline IoCompletion completion_of(const IoRequest& request, const Answer& moved) {
    return {request.token, moved.failed() ? 0 : moved.result, moved.error_number};
}

/// Makes a posix store of an open file.
std::unique_ptr<Store> make_posix(OpenedDescriptor file, const OpenMode& mode);

class DescriptorStore : public Store {
  public:
    /// `mode` is how `file` was opened. `limits` are those of the calls that move bytes; the
    /// constructor adds those of the file. If direct I/O is requested and refused, limits().remark
    /// says so.
    DescriptorStore(OpenedDescriptor file, const OpenMode& mode, StoreLimits limits = {});
    [[nodiscard]] const StoreFacts& facts() const final { return facts_; }
    Result<Bytes> size() override;
    Result<void> resize(Bytes bytes, bool allocate) override;
    Result<void> sync() override;
    Result<void> lock(Extent range, bool lock, bool exclusive) final;
    Result<bool> is_locked_elsewhere(Extent range) final;
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override;
    Result<void> close() override;

  protected:
    [[nodiscard]] int descriptor() const { return file_.number(); }
    /// Returns true if the request bypasses the page cache: its alignment and limits() allow it.
    [[nodiscard]] bool goes_direct(const IoRequest& request) const;
    /// Returns the descriptor that bypasses the page cache, or the one that uses it.
    [[nodiscard]] int descriptor(bool direct) const {
        return direct ? direct_.number() : file_.number();
    }
    /// Returns how the file was opened, without direct I/O if give_up_direct() was called.
    [[nodiscard]] const OpenMode& mode() const { return mode_; }
    /// Returns another descriptor of the same open file, which shares its locks.
    [[nodiscard]] Result<OpenedDescriptor> duplicate_file() const;
    /// Sets limits().remark, a message for the user, in place of an earlier message.
    void set_remark(std::string_view remark) { facts_.limits.remark = remark; }
    /// Adapts facts() to a store that keeps no data in the page cache: no mapping, no prefetch, and
    /// no need for expect_size(), because the store asks the server after each short read. Sets
    /// limits().flush_before_unlock.
    void leave_page_cache(bool flush_before_unlock);
    /// Switches all further requests to the page cache, because the system refused a direct
    /// request.
    void give_up_direct();
    /// Calls `move()`, which makes the system call for `request`. If another handle's mandatory
    /// lock denies the call, locks the request's range and calls `move()` again, at most
    /// kLockTries times.
    template <class Move>
    [[nodiscard]] Answer past_locks(const IoRequest& request, const Move& move) {
        Answer moved = move();
        for (int tries = 0; tries < kLockTries && is_denied(moved); ++tries) {
            const Extent range{request.offset, request.offset + length_of(request.memory)};
            if (!lock(range, true, true)) break;
            moved = move();
            (void)lock(range, false, true);
        }
        return moved;
    }

  private:
    static constexpr int kLockTries = 10;
    /// Returns true if another handle's mandatory lock denied the request. Returns false while
    /// this store holds a lock: others can't lock those bytes then, and a lock holder must not wait
    /// for a second lock.
    [[nodiscard]] bool is_denied(const Answer& moved) const {
        return kind().mandatory_locks && locks_held_ == 0 &&
               (moved.error_number == EACCES || moved.error_number == EAGAIN);
    }
    [[nodiscard]] Answer change_lock(struct flock& region) const;

    Descriptor file_;
    OpenMode mode_;
    StoreFacts facts_;
    ExtentMap extents_;
    std::unique_ptr<Prefetch> fetching_;
    Descriptor direct_{-1};
    int locks_held_ = 0;  ///< number of locks on bytes of data
};

}  // namespace oratorio
