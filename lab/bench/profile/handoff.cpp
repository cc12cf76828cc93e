// SPDX-License-Identifier: BSD-3-Clause
// Measures the best possible read of pieces that alternate between two processes, in per cent of
// contiguous reads of the same bytes: with a call for each piece, through buffers that both
// processes map, and by mapping the file. Each process has a core. The processes plan nothing and
// agree on nothing. They only wait for each other at the start and end of each phase.
//
//     c++ -O2 -std=c++20 -march=native lab/bench/profile/handoff.cpp -o handoff && ./handoff FILE
//
// Rates are medians of 9 passes in which all ways take turns. x86-64 only.
#include <fcntl.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr int kProcesses = 2;
constexpr std::size_t kMine = 64 << 20;        // bytes that each process reads
constexpr std::size_t kRing = 8 << 20;         // size of the buffers that both processes map
constexpr std::size_t kSubBuffer = 512 << 10;  // size of the part of the ring that one call fills
constexpr std::size_t kWindow = 4 << 20;  // size of the part of the file that is mapped at a time
constexpr int kPasses = 9;

struct Shared {
    std::atomic<int> arrived{0};
    alignas(64) std::atomic<int> line{0};
    alignas(64) double begin[kProcesses];
    double end[kProcesses];
};

template <class T>
T* map_shared(std::size_t bytes) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    return static_cast<T*>(at);
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Copies with streaming stores, which bypass the caches. REQUIRES: `bytes` is a multiple of 64,
/// and `to` is aligned to 64.
void stream(char* to, const char* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

/// One of the two processes.
class Process {
  public:
    Process(int number, int file, Shared& shared, char* ring)
        : number_(number),
          file_(file),
          shared_(shared),
          ring_(ring),
          memory_(map_shared<char>(kMine)) {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET(number, &core);
        sched_setaffinity(0, sizeof core, &core);
        for (std::size_t at = 0; at < kRing; at += 4096)
            ring_[at + 2048 * static_cast<std::size_t>(number)] = 1;
    }

    void contiguous() { read(memory_, kMine, static_cast<off_t>(kMine) * number_); }

    /// Reads this process's pieces with one call per piece.
    void pieces(std::size_t piece) {
        std::size_t done = 0;
        for_each_piece(0, kProcesses * kMine, piece, [&](std::size_t at) {
            read(memory_ + done, piece, static_cast<off_t>(at));
            done += piece;
        });
    }

    /// Reads through the shared buffers: each process fills half of them with large calls, and
    /// copies its pieces from all of them.
    void buffers(std::size_t piece) {
        std::size_t done = 0;
        for (std::size_t round = 0; round < kProcesses * kMine; round += kRing) {
            const std::size_t half = kRing / kProcesses * static_cast<std::size_t>(number_);
            for (std::size_t at = half; at < half + kRing / kProcesses; at += kSubBuffer)
                read(ring_ + at, kSubBuffer, static_cast<off_t>(round + at));
            meet();
            for_each_piece(0, kRing, piece, [&](std::size_t at) {
                stream(memory_ + done, ring_ + at, piece);
                done += piece;
            });
            _mm_sfence();
            meet();
        }
    }

    /// Reads through mappings: both processes map the whole file, a window at a time.
    void mapping(std::size_t piece) {
        std::size_t done = 0;
        for (std::size_t begin = 0; begin < kProcesses * kMine; begin += kWindow) {
            void* const window =
                mmap(nullptr, kWindow, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(begin));
            if (window == MAP_FAILED) std::abort();
            for_each_piece(0, kWindow, piece, [&](std::size_t at) {
                stream(memory_ + done, static_cast<char*>(window) + at, piece);
                done += piece;
            });
            munmap(window, kWindow);
        }
        _mm_sfence();
    }

    /// Returns the seconds from the first process's start to the last one's end.
    double timed(const std::function<void(Process&)>& way) {
        meet();
        shared_.begin[number_] = now();
        way(*this);
        shared_.end[number_] = now();
        meet();
        const double taken =
            std::max(shared_.end[0], shared_.end[1]) - std::min(shared_.begin[0], shared_.begin[1]);
        meet();
        return taken;
    }

    /// Returns the nanoseconds that a cache line takes from one core to the other and back.
    double there_and_back() {
        constexpr int kTurns = 20000;
        meet();
        const double begin = now();
        for (int turn = 0; turn < kTurns; ++turn) {
            while (shared_.line % kProcesses != number_) _mm_pause();
            ++shared_.line;
        }
        meet();
        return (now() - begin) / kTurns * 1e9;
    }

  private:
    void meet() {
        met_ += kProcesses;
        ++shared_.arrived;
        while (shared_.arrived < met_) _mm_pause();
    }
    void read(char* into, std::size_t bytes, off_t at) const {
        if (pread(file_, into, bytes, at) != static_cast<ssize_t>(bytes)) std::abort();
    }
    /// Calls each(at) for the pieces of this process. The pieces alternate between the processes.
    template <class Each>
    void for_each_piece(std::size_t begin, std::size_t end, std::size_t piece, Each each) const {
        const std::size_t first = begin + piece * static_cast<std::size_t>(number_);
        for (std::size_t at = first; at < end; at += kProcesses * piece) each(at);
    }

    int number_;
    int file_;
    Shared& shared_;
    char* ring_;
    char* memory_;
    int met_ = 0;
};

struct Way {
    std::string name;
    std::function<void(Process&)> run;
};

std::vector<Way> all_ways() {
    std::vector<Way> ways{{"contiguous", &Process::contiguous}};
    for (const std::size_t piece : {1024, 4096, 16384}) {
        const std::string size = std::to_string(piece) + " B: ";
        ways.push_back({size + "a call each", [=](Process& p) { p.pieces(piece); }});
        ways.push_back({size + "shared buffers", [=](Process& p) { p.buffers(piece); }});
        ways.push_back({size + "mapped file", [=](Process& p) { p.mapping(piece); }});
    }
    return ways;
}

int make_file(const char* path) {
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const std::vector<char> block(1 << 20, 'x');
    for (std::size_t at = 0; at < kProcesses * kMine; at += block.size()) {
        if (pwrite(file, block.data(), block.size(), static_cast<off_t>(at)) !=
            static_cast<ssize_t>(block.size())) {
            std::perror(path);
            std::exit(1);
        }
    }
    return file;
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return std::fprintf(stderr, "usage: handoff FILE\n"), 2;
    const int file = make_file(words[1]);
    Shared& shared = *new (map_shared<char>(sizeof(Shared))) Shared;
    char* const ring = map_shared<char>(kRing);
    const pid_t child = fork();
    Process process(child == 0 ? 1 : 0, file, shared, ring);
    const std::vector<Way> ways = all_ways();
    std::vector<std::vector<double>> seconds(ways.size());
    const double before = process.there_and_back();
    for (int pass = -1; pass < kPasses; ++pass) {
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const double taken = process.timed(ways[i].run);
            if (pass >= 0) seconds[i].push_back(taken);
        }
    }
    const double after = process.there_and_back();
    if (child == 0) return 0;
    waitpid(child, nullptr, 0);
    std::printf("a cache line there and back: %.0f ns before, %.0f after\n", before, after);
    for (std::size_t i = 0; i < ways.size(); ++i) {
        std::sort(seconds[i].begin(), seconds[i].end());
        const double median = seconds[i][kPasses / 2];
        std::printf("%-24s %6.0f MiB/s %4.0f %%\n", ways[i].name.c_str(),
                    kProcesses * kMine / median / (1 << 20),
                    100 * seconds[0][kPasses / 2] / median);
    }
    unlink(words[1]);
}
