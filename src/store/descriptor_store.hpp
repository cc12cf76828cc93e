// SPDX-License-Identifier: BSD-3-Clause
// DescriptorStore: what all stores over a file descriptor have in common, that is everything but
// moving bytes.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "base/descriptor.hpp"
#include "base/system_call.hpp"
#include "store/store.hpp"

namespace oratorio {

/// A descriptor, and what its file was seen to be.
struct OpenedFile : Descriptor {
    FileKind kind = {};
    FileNumber identity = {};
};

/// Opens `path`, with `more` flags of open(2); a directory is refused as bad_file. Where the mode
/// has what is known of the file, the system is asked for nothing else.
Result<OpenedFile> open_descriptor(const std::string& path, const OpenMode& mode, int more = 0);

/// What a transfer's system call makes of its request.
[[nodiscard]] inline IoCompletion completion_of(const IoRequest& request, const Answer& moved) {
    return {request.token, moved.failed() ? 0 : moved.result, moved.error_number};
}

/// A posix store of a file that is open.
std::unique_ptr<Store> make_posix(OpenedFile file, const OpenMode& mode);

class DescriptorStore : public Store {
  public:
    /// `mode` as `file` was opened. Where direct I/O is asked for and refused, limits().remark says
    /// so.
    DescriptorStore(OpenedFile file, const OpenMode& mode);
    Result<Bytes> size() override;
    Result<void> resize(Bytes bytes, bool allocate) override;
    Result<void> sync() final;
    Result<void> lock(Extent range, bool lock, bool exclusive) final;
    Result<bool> is_locked_elsewhere(Extent range) final;
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override;
    Result<void> close() override;

  protected:
    [[nodiscard]] int descriptor() const { return file_.number(); }
    /// Past the page cache where the request's alignment and limits() allow it.
    [[nodiscard]] bool goes_direct(const IoRequest& request) const;
    /// Of the page cache, or past it.
    [[nodiscard]] int descriptor(bool direct) const {
        return direct ? direct_.number() : file_.number();
    }
    /// How the file is used now.
    [[nodiscard]] const OpenMode& mode() const { return mode_; }
    /// Another descriptor of the same open file: its locks are the same ones.
    [[nodiscard]] Result<OpenedFile> duplicate_file() const;
    /// The system refused an aligned request: from now on all go by the page cache.
    void give_up_direct();
    /// Calls `move()`, which makes the system call for `request`. Where another handle's mandatory
    /// lock denies it, takes the lock of the request's range and calls it again, a few times.
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
    /// Not where this store holds a lock itself: others can't have one on those bytes then, and
    /// whoever holds a lock waits for no second one.
    [[nodiscard]] bool is_denied(const Answer& moved) const {
        return kind().mandatory_locks && locks_held_ == 0 &&
               (moved.error_number == EACCES || moved.error_number == EAGAIN);
    }
    [[nodiscard]] Answer change_lock(struct flock& region) const;

    Descriptor file_;
    OpenMode mode_;
    ExtentMap extents_;
    std::unique_ptr<Prefetch> fetching_;
    Descriptor direct_{-1};
    int locks_held_ = 0;  ///< on bytes of data
};

}  // namespace oratorio
