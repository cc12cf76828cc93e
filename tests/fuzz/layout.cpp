// SPDX-License-Identifier: BSD-3-Clause
// Layouts as bytes: any bytes must decode to a layout that can be walked, or to an error.
#include <vector>

#include "fuzz.hpp"
#include "type/cursor.hpp"
#include "type/shape_codec.hpp"

namespace oratorio::test {
namespace {

constexpr int kRuns = 200;

/// Walks a limited number of runs.
void walk(const Layout& layout) {
    Cursor cursor(layout);
    Bytes walked = 0;
    for (int i = 0; i < kRuns; ++i) {
        const StridedRun run = cursor.next();
        if (run.count == 0) break;
        claim(run.length > 0 && run.count > 0, "a run has data");
        walked += run.bytes();
        claim(cursor.tell_size() == walked, "the cursor is where its runs end");
    }
    claim(walked <= layout.size(), "a walk visits no more bytes than the layout has");
    PieceRows pieces;
    Cursor again(layout);
    for (int i = 0; i < kRuns; ++i) {
        again.next_pieces(pieces);
        if (pieces.rows == 0) break;
    }
    if (layout.size() > 0) again.seek_size(layout.size() / 2);
    again.next();
    if (!layout.monotonic() || layout.size() == 0) return;
    const Offset at = again.tell_offset();
    again.seek_offset(at);
    claim(again.at_end() || again.tell_offset() >= at, "a seek finds no byte before the offset");
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio;
    using namespace oratorio::test;
    const auto layout = decode(std::as_bytes(std::span(data, size)));
    if (!layout) return 0;
    std::vector<std::byte> bytes;
    encode(*layout, bytes);
    claim(std::ssize(bytes) == encoded_bytes(*layout), "encoded_bytes() is what encode() appends");
    const auto again = decode(bytes);
    claim(again.ok(), "what was encoded is decoded");
    std::vector<std::byte> same;
    encode(*again, same);
    claim(same == bytes, "the normal form stays as it is");
    static_cast<void>(layout->shape->describe());
    walk(*layout);
    return 0;
}
