// SPDX-License-Identifier: BSD-3-Clause
// What storage calls and mappings cost, by the project's own store: Transfer as the list method
// uses it, windows as the mmap method maps them.

#include <string>

#include "plan/methods.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "store/transfer.hpp"

namespace oratorio::calibrate {
namespace {

// A page: what it costs to find one is in the costs of bytes already.
constexpr Bytes kPiece = 4096;
constexpr Bytes kPieceStride = 2 * kPiece;
constexpr std::int64_t kOutstanding = 1024;  // as the list method has
constexpr Bytes kPage = 4096;

class Files {
  public:
    Files(std::unique_ptr<Store> store, const Scale& scale)
        : store_(std::move(store)),
          scale_(scale),
          buffer_(static_cast<std::size_t>(kSharedSlotBytes), std::byte{1}) {}

    [[nodiscard]] bool mappable() const { return store_->limits().mappable; }
    [[nodiscard]] double bytes() const { return static_cast<double>(scale_.data); }
    [[nodiscard]] double pieces() const { return bytes() / static_cast<double>(kPieceStride); }
    [[nodiscard]] double pages() const { return bytes() / static_cast<double>(kPage); }
    [[nodiscard]] double windows() const {
        return bytes() / static_cast<double>(std::min(scale_.data, kMapWindowBytes));
    }
    [[nodiscard]] int map_turns() const { return std::max(1, scale_.turns / 40); }

    Result<void> empty() { return store_->resize(0, false); }
    Result<void> large_calls(Direction direction);
    Result<void> small_calls(Direction direction);
    Result<void> map(bool touch);
    Result<void> map_untouched();

  private:
    std::unique_ptr<Store> store_;
    Scale scale_;
    std::vector<std::byte> buffer_;
};

Result<void> Files::large_calls(Direction direction) {
    for (Offset offset = 0; offset < scale_.data; offset += std::ssize(buffer_)) {
        const Transferred done = transfer(*store_, direction, offset, buffer_);
        if (done.error.kind != ErrorKind::none) return done.error;
    }
    return {};
}

Result<void> Files::small_calls(Direction direction) {
    Transfer transfer(*store_);
    const std::span<std::byte> buffer(buffer_);
    for (Offset offset = 0; offset < scale_.data;) {
        for (std::int64_t i = 0; i < kOutstanding && offset < scale_.data; ++i) {
            const auto at = static_cast<std::size_t>(i * kPiece) % buffer.size();
            transfer.start(direction, offset, buffer.subspan(at, kPiece),
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

/// Window by window, to be read; `touch`: a byte of each page.
Result<void> Files::map(bool touch) {
    for (Offset begin = 0; begin < scale_.data; begin += kMapWindowBytes) {
        const Extent window{begin, std::min(begin + kMapWindowBytes, scale_.data)};
        auto mapped = store_->map(window, Direction::read, touch ? Populate::yes : Populate::no);
        if (!mapped) return mapped.error();
        volatile std::byte* const first = mapped->bytes().data();
        const Bytes end = touch ? std::ssize(mapped->bytes()) : 0;
        const auto touched = mapped->guarded([&] {
            for (Bytes at = 0; at < end; at += kPage) (void)first[at];
        });
        if (!touched) return touched.error();
    }
    return {};
}

Result<void> Files::map_untouched() {
    for (int turn = 0; turn < map_turns(); ++turn) {
        if (const auto mapped = map(false); !mapped) return mapped.error();
    }
    return {};
}

using Step = std::function<Result<void>()>;

/// `prepare` isn't measured.
Probe probe(
    std::string_view what, Step body, Step prepare = [] { return Result<void>(); }) {
    return {what, [=]() -> Result<Nanoseconds> {
                if (const auto ready = prepare(); !ready) return ready.error();
                const Stopwatch watch;
                if (const auto done = body(); !done) return done.error();
                return watch.elapsed();
            }};
}

Result<void> measure_calls(Session& session, Files& files) {
    const std::vector<Probe> probes{
        probe(
            "new file", [&] { return files.large_calls(Direction::write); },
            [&] { return files.empty(); }),
        probe("existing file", [&] { return files.large_calls(Direction::write); }),
        probe("large reads", [&] { return files.large_calls(Direction::read); }),
        probe("small reads", [&] { return files.small_calls(Direction::read); }),
        probe("small writes", [&] { return files.small_calls(Direction::write); }),
    };
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const Nanoseconds rewrite_byte = (*times)[1] / files.bytes();
    const Nanoseconds read_byte = (*times)[2] / files.bytes();
    session.measured("read_byte", read_byte);
    session.measured("read_call", (*times)[3] / files.pieces() - kPiece * read_byte);
    session.measured("write_byte", (*times)[0] / files.bytes());
    session.measured("write_call", (*times)[4] / files.pieces() - kPiece * rewrite_byte);
    return {};
}

Result<void> measure_mappings(Session& session, Files& files) {
    if (!files.mappable()) {
        for (const char* name : {"map_read_page", "map_window"})
            session.kept(name, "this file system can't map files");
        return {};
    }
    const std::vector<Probe> probes{
        probe("pages mapped", [&] { return files.map(true); }),
        probe("windows mapped", [&] { return files.map_untouched(); }),
    };
    const auto times = session.medians(probes);
    if (!times) return times.error();
    const Nanoseconds window = (*times)[1] / (files.windows() * files.map_turns());
    session.measured("map_read_page", ((*times)[0] - files.windows() * window) / files.pages());
    session.measured("map_window", window);
    return {};
}

}  // namespace

Result<void> measure_files(Session& session, const std::string& folder) {
    auto store = open_scratch(folder, 1, false);
    if (!store) return store.error();
    Files files(std::move(store->front()), session.scale());
    if (const auto done = measure_calls(session, files); !done) return done.error();
    return measure_mappings(session, files);
}

}  // namespace oratorio::calibrate
