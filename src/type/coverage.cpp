#include "type/coverage.hpp"

namespace oratorio {

namespace {

// Two rounds of multiply and xor-shift. The first multiplication is linear in the offset, so a walk
// at a constant stride pays an addition for it; no branch and no state, so the mixes of a loop
// overlap.
constexpr std::uint64_t kKey = 0x6f7261746f72696fU;
constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t kSecond = 0xd6e8feb86659fd93U;

std::uint64_t linear(Offset at) {
    return static_cast<std::uint64_t>(at) * kFirst + kKey;
}

std::uint64_t scramble(std::uint64_t bits) {
    bits = (bits ^ (bits >> 32)) * kSecond;
    return bits ^ (bits >> 29);
}

}  // namespace

std::uint64_t mix(Offset at) {
    return scramble(linear(at));
}

std::uint64_t coverage(const StridedRun& run) {
    if (run.count > 0 && run.stride == run.length) return coverage(Extent{run.offset, run.end()});
    const std::uint64_t step = linear(run.stride) - linear(0);
    const std::uint64_t length = linear(run.length) - linear(0);
    std::uint64_t begin = linear(run.offset);
    std::uint64_t sum = 0;
    for (std::int64_t piece = 0; piece < run.count; ++piece, begin += step)
        sum += scramble(begin + length) - scramble(begin);
    return sum;
}

std::uint64_t coverage(Extent whole) {
    return mix(whole.end) - mix(whole.begin);
}

std::uint64_t coverage(const Layout& layout, Bytes from, Bytes to) {
    Cursor cursor(layout);
    cursor.seek_size(from);
    std::uint64_t sum = 0;
    while (cursor.tell_size() < to) {
        const StridedRun run = cursor.next(to - cursor.tell_size());
        if (run.count == 0) break;
        sum += coverage(run);
    }
    return sum;
}

}  // namespace oratorio
