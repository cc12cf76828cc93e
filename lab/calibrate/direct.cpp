// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of direct I/O: several threads make calls on one file at the same time, as
// ranks would.
#include <mutex>
#include <thread>

#include "memory/buffer_pool.hpp"
#include "plan/methods.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "store/transfer.hpp"

namespace oratorio::calibrate {
namespace {

constexpr int kSideBySide = 4;
constexpr std::string_view kNotDirect = "calls on this file system bypass the page cache";
constexpr Bytes kPiece = 4096;  // the smallest request that direct I/O accepts everywhere
// Small calls move 1/kSmallShare of the data, because each call waits for the device.
constexpr Bytes kSmallShare = 16;

class DirectFile {
  public:
    explicit DirectFile(std::vector<std::unique_ptr<Store>> stores) : stores_(std::move(stores)) {}

    [[nodiscard]] const StoreLimits& limits() const { return stores_.front()->limits(); }
    Result<void> empty() { return stores_.front()->resize(0, false); }
    /// Moves [0, bytes) piece by piece. The pieces belong to the threads in turn.
    Result<void> move(Direction direction, Bytes bytes, Bytes piece);

  private:
    static Error move_share(Store& store, Direction direction, Bytes bytes, Bytes piece,
                            Offset first);

    std::vector<std::unique_ptr<Store>> stores_;
};

Error DirectFile::move_share(Store& store, Direction direction, Bytes bytes, Bytes piece,
                             Offset first) {
    BufferPool pool;
    const auto buffer = pool.take(piece);
    if (buffer.span().empty()) return Error::make(ErrorKind::no_memory, "memory for direct I/O");
    Transfer transfer(store);
    for (Offset at = first; at < bytes; at += kSideBySide * piece)
        transfer.start(direction, at, buffer.span(), 0);  // the data read is not used
    Error error;
    Transferred done;
    while (transfer.outstanding() > 0 && transfer.poll(done, true)) {
        if (done.error.kind != ErrorKind::none) error = done.error;
    }
    return error;
}

Result<void> DirectFile::move(Direction direction, Bytes bytes, Bytes piece) {
    std::mutex mutex;
    Error error;
    {
        std::vector<std::jthread> threads;
        for (Offset i = 0; i < kSideBySide; ++i) {
            threads.emplace_back([&, i] {
                Store& store = *stores_[static_cast<std::size_t>(i)];
                const Error mine = move_share(store, direction, bytes, piece, i * piece);
                const std::lock_guard lock(mutex);
                if (mine.kind != ErrorKind::none) error = mine;
            });
        }
    }
    if (error.kind != ErrorKind::none) return error;
    return {};
}

Probe probe(std::string_view what, DirectFile& file, Direction direction, Bytes bytes,
            Bytes piece) {
    return {what, [=, &file]() -> Result<Nanoseconds> {
                if (direction == Direction::write) {
                    if (const auto emptied = file.empty(); !emptied) return emptied.error();
                }
                const Stopwatch watch;
                if (const auto moved = file.move(direction, bytes, piece); !moved)
                    return moved.error();
                return watch.elapsed();
            }};
}

}  // namespace

Result<void> measure_direct(Session& session, const std::string& folder) {
    auto stores = open_scratch(folder, kSideBySide, true);
    if (!stores) return stores.error();
    DirectFile file(std::move(*stores));
    if (file.limits().direct_write.file == 0) {
        for (const char* name :
             {"direct_read_call", "direct_read_byte", "direct_write_call", "direct_write_byte"})
            session.kept(name, file.limits().remark.empty() ? kNotDirect : file.limits().remark);
        return {};
    }
    const Bytes large = session.scale().data;
    const Bytes small = large / kSmallShare;
    const std::vector<Probe> probes{
        probe("small direct writes", file, Direction::write, small, kPiece),
        probe("small direct reads", file, Direction::read, small, kPiece),
        probe("large direct writes", file, Direction::write, large, kSharedSlotBytes),
        probe("large direct reads", file, Direction::read, large, kSharedSlotBytes),
    };
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const auto pieces = static_cast<double>(small / kPiece);
    const auto tell = [&](const char* call, const char* byte, Nanoseconds many, Nanoseconds few) {
        const Nanoseconds each = few / static_cast<double>(large);
        session.measured(byte, each);
        session.measured(call, many / pieces - kPiece * each);
    };
    tell("direct_write_call", "direct_write_byte", (*times)[0], (*times)[2]);
    tell("direct_read_call", "direct_read_byte", (*times)[1], (*times)[3]);
    return {};
}

}  // namespace oratorio::calibrate
