// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of writing, mapping and locking a file for one process, with the library's
// store: Transfer as the method list_io uses it, windows as the method mmap maps them. The cost for
// several processes is measured in several.cpp.

#include <string>

#include "memory/buffer_pool.hpp"
#include "plan/methods.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "store/transfer.hpp"

namespace oratorio::calibrate {
namespace {

// Small calls move a page: the cost of finding the page is already part of the cost of bytes.
constexpr Bytes kPiece = 4096;
constexpr Bytes kPieceStride = 2 * kPiece;
constexpr std::int64_t kOutstanding = 1024;  // the same number as in the method list_io

class Files {
  public:
    /// Measures with `store`. `buffer` holds the data to write and belongs to the caller.
    Files(std::unique_ptr<Store> store, const Scale& scale, std::span<std::byte> buffer)
        : store_(std::move(store)), scale_(scale), buffer_(buffer) {}

    [[nodiscard]] bool mappable() const { return store_->limits().mappable; }
    [[nodiscard]] double bytes() const { return static_cast<double>(scale_.data); }
    [[nodiscard]] double large_pieces() const {
        return bytes() / static_cast<double>(buffer_.size());
    }
    [[nodiscard]] Bytes small_data() const { return data_of_small_calls(*store_, scale_); }
    [[nodiscard]] double pieces() const {
        return static_cast<double>(small_data()) / static_cast<double>(kPieceStride);
    }
    [[nodiscard]] double windows() const {
        return bytes() / static_cast<double>(std::min(scale_.data, kMapWindowBytes));
    }
    [[nodiscard]] int map_turns() const { return std::max(1, scale_.turns / 40); }
    [[nodiscard]] int lock_turns() const { return std::max(1, scale_.turns / 10); }

    Result<void> empty() { return store_->resize(0, false); }
    Result<void> write_in_large_calls();
    Result<void> write_in_small_calls();
    Result<void> map_windows();
    Result<void> lock();

  private:
    std::unique_ptr<Store> store_;
    Scale scale_;
    std::span<std::byte> buffer_;
};

Result<void> Files::write_in_large_calls() {
    for (Offset offset = 0; offset < scale_.data; offset += std::ssize(buffer_)) {
        const Transferred done = transfer(*store_, Direction::write, offset, buffer_);
        if (done.error.kind != ErrorKind::none) return done.error;
    }
    return {};
}

Result<void> Files::write_in_small_calls() {
    Transfer transfer(*store_);
    for (Offset offset = 0; offset < small_data();) {
        for (std::int64_t i = 0; i < kOutstanding && offset < small_data(); ++i) {
            const auto at = static_cast<std::size_t>(i * kPiece) % buffer_.size();
            transfer.start(Direction::write, offset, buffer_.subspan(at, kPiece),
                           static_cast<std::uint64_t>(i));
            offset += kPieceStride;
        }
        Transferred done;
        while (transfer.outstanding() > 0 && transfer.poll(done, true)) {
            if (done.error.kind != ErrorKind::none) return done.error;
        }
    }
    return {};
}

Result<void> Files::map_windows() {
    for (int turn = 0; turn < map_turns(); ++turn) {
        for (Offset begin = 0; begin < scale_.data; begin += kMapWindowBytes) {
            const Extent window{begin, std::min(begin + kMapWindowBytes, scale_.data)};
            const auto mapped = store_->map(window, Direction::read, Populate::no);
            if (!mapped) return mapped.error();
        }
    }
    return {};
}

Result<void> Files::lock() {
    for (int turn = 0; turn < lock_turns(); ++turn) {
        const Extent range{turn * kPiece, (turn + 1) * kPiece};
        for (const bool takes : {true, false}) {
            if (const auto done = store_->lock(range, takes, true); !done) return done.error();
        }
    }
    return {};
}

using Step = std::function<Result<void>()>;

/// Returns a probe that measures `body`, after `prepare`, which isn't measured.
Probe probe(
    std::string_view what, Step body, Step prepare = [] { return Result<void>(); }) {
    return {what, [=]() -> Result<Nanoseconds> {
                if (const auto ready = prepare(); !ready) return ready.error();
                const Stopwatch watch;
                if (const auto done = body(); !done) return done.error();
                return watch.elapsed();
            }};
}

/// Measures the costs of a write call, of a byte written to a new file, and of a lock. The cost of
/// a call comes from a line that is fitted to the times of large and small calls.
Result<void> measure_writes(Session& session, Files& files) {
    const std::vector<Probe> probes{
        probe(
            "new file", [&] { return files.write_in_large_calls(); },
            [&] { return files.empty(); }),
        probe("existing file", [&] { return files.write_in_large_calls(); }),
        probe("small writes", [&] { return files.write_in_small_calls(); }),
        probe("locks", [&] { return files.lock(); }),
    };
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const double small_bytes = files.pieces() * kPiece;
    const double as_many = small_bytes / files.bytes();
    const Line existing = fit(small_bytes, as_many * (*times)[1], as_many * files.large_pieces(),
                              (*times)[2], files.pieces());
    session.measured("write_call", existing.piece);
    session.measured("lock", (*times)[3] / files.lock_turns());
    session.measured("write_byte",
                     ((*times)[0] - files.large_pieces() * existing.piece) / files.bytes());
    return {};
}

Result<void> measure_windows(Session& session, Files& files) {
    if (!files.mappable()) {
        session.kept("map_window", kUnmappable);
        return {};
    }
    const auto times =
        session.medians({{probe("windows mapped", [&] { return files.map_windows(); })}});
    if (!times) return times.error();
    session.measured("map_window", (*times)[0] / (files.windows() * files.map_turns()));
    return {};
}

}  // namespace

Result<void> measure_files(Session& session, const std::string& folder) {
    auto store = open_scratch(folder, 1, false);
    if (!store) return store.error();
    BufferPool pool;
    const auto buffer = pool.take(kSharedSlotBytes);
    if (buffer.span().empty()) return Error::make(ErrorKind::no_memory, "memory to write from");
    std::ranges::fill(buffer.span(), std::byte{1});
    Files files(std::move(store->front()), session.scale(), buffer.span());
    if (const auto done = measure_writes(session, files); !done) return done.error();
    return measure_windows(session, files);
}

}  // namespace oratorio::calibrate
