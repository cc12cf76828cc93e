// SPDX-License-Identifier: BSD-3-Clause
// Measures how the time of a copy depends on how far its target lies behind its source within a
// page (docs/internals/decisions/stores.md). It measures read and write without a buffer, read and
// write through a bounce buffer that begins in the middle of a page, and memcpy, as a whole and in
// steps.
//
//     c++ -O2 -std=c++20 lab/bench/profile/close_behind.cpp -o close_behind && ./close_behind
//     FILE
//
// The program prints nanoseconds per byte on one core: the least of 5 passes over 64 MiB in pieces
// of 512 KiB (through the bounce buffer 128 KiB, memcpy 64 KiB). FILE should be in memory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

namespace {

constexpr std::size_t kBytes = 64 << 20;
constexpr std::size_t kCall = 512 << 10;
constexpr std::size_t kStage = 128 << 10;
constexpr std::size_t kCopy = 64 << 10;
constexpr std::size_t kStep = 512;
constexpr std::size_t kPage = 4096;
constexpr int kPasses = 5;

char* pages(std::size_t bytes) {
    auto* const memory = static_cast<char*>(::operator new (bytes, std::align_val_t{kPage}));
    std::memset(memory, 1, bytes);
    return memory;
}

void must(bool well) {
    if (!well) std::abort();
}

double least(std::size_t piece, const std::function<void(std::size_t at)>& move) {
    double best = 1e9;
    for (int pass = 0; pass < kPasses; ++pass) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t at = 0; at < kBytes; at += piece) move(at);
        const std::chrono::duration<double, std::nano> time =
            std::chrono::steady_clock::now() - begin;
        best = std::min(best, time.count() / kBytes);
    }
    return best;
}

void by_steps(char* to, const char* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kStep) std::memcpy(to + at, from + at, kStep);
}

}  // namespace

int main(int count, char** words) {
    must(count == 2);
    const int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(file >= 0);
    char* const memory = pages(kBytes + 2 * kPage);
    char* const stage = pages(kStage + kPage) + kPage / 2;
    for (std::size_t at = 0; at <= kBytes; at += kCall)
        must(pwrite(file, memory, kCall, static_cast<off_t>(at)) == kCall);
    std::puts("behind |  read  staged |  write  staged | memcpy  steps");
    for (const std::size_t behind : {0, 1, 8, 16, 31, 32, 64, 2048, 4080}) {
        char* const to = memory + behind;
        const auto read = [&](std::size_t at) {
            must(pread(file, to + at, kCall, static_cast<off_t>(at)) == kCall);
        };
        const auto staged_read = [&](std::size_t at) {
            must(pread(file, stage, kStage, static_cast<off_t>(at)) == kStage);
            std::memcpy(to + at, stage, kStage);
        };
        const auto place = [&](std::size_t at) { return static_cast<off_t>(at + behind); };
        const auto write = [&](std::size_t at) {
            must(pwrite(file, memory + at, kCall, place(at)) == kCall);
        };
        const auto staged_write = [&](std::size_t at) {
            std::memcpy(stage, memory + at, kStage);
            must(pwrite(file, stage, kStage, place(at)) == kStage);
        };
        const char* const from = stage - kPage / 2;
        std::printf("%6zu | %5.3f   %5.3f |  %5.3f   %5.3f |  %5.3f  %5.3f\n", behind,
                    least(kCall, read), least(kStage, staged_read), least(kCall, write),
                    least(kStage, staged_write),
                    least(kCopy, [&](std::size_t at) { std::memcpy(to + at, from, kCopy); }),
                    least(kCopy, [&](std::size_t at) { by_steps(to + at, from, kCopy); }));
    }
    must(unlink(words[1]) == 0);
    return 0;
}
