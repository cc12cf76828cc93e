// SPDX-License-Identifier: BSD-3-Clause
// Measures whether registered buffers of io_uring pay off. It makes requests on a file with
// O_DIRECT, several at a time, from buffers that the kernel looks up for each request and from
// buffers that were registered in advance. It prints rates, and the time of a core per request.
//
//     c++ -O2 -std=c++20 lab/bench/profile/registered.cpp -luring -o registered && ./registered
//     FILE
//
// The results are medians of 7 passes in which all ways take turns.
#include <fcntl.h>
#include <liburing.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kFile = 256 << 20;
constexpr unsigned kUnderWay = 4;
constexpr int kPasses = 7;

struct Cost {
    double mib_per_s;
    double core_us;  // microseconds of a core per request
};

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

double core_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class Ring {
  public:
    Ring(int file, char* buffers, std::size_t bytes)
        : file_(file), buffers_(buffers), bytes_(bytes) {
        if (io_uring_queue_init(kUnderWay, &ring_, 0) < 0) fail("io_uring");
        std::vector<iovec> all;
        for (unsigned i = 0; i < kUnderWay; ++i) all.push_back({buffers + i * bytes, bytes});
        if (io_uring_register_buffers(&ring_, all.data(), kUnderWay) < 0) fail("registering");
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() { io_uring_queue_exit(&ring_); }

    /// Moves the whole file once.
    Cost move(bool write, bool registered) {
        const std::size_t requests = kFile / bytes_;
        std::size_t begun = 0;
        const double core = core_seconds();
        const auto start = std::chrono::steady_clock::now();
        for (; begun < kUnderWay; ++begun)
            submit(begun, static_cast<unsigned>(begun), write, registered);
        for (std::size_t ended = 0; ended < requests; ++ended) {
            io_uring_cqe* done = nullptr;
            if (io_uring_wait_cqe(&ring_, &done) < 0) fail("waiting");
            if (done->res != static_cast<int>(bytes_)) fail("a request moved too few bytes");
            const auto buffer = static_cast<unsigned>(done->user_data);
            io_uring_cqe_seen(&ring_, done);
            if (begun < requests) submit(begun++, buffer, write, registered);
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        return {kFile / taken.count() / (1 << 20),
                1e6 * (core_seconds() - core) / static_cast<double>(requests)};
    }

  private:
    void submit(std::size_t request, unsigned buffer, bool write, bool registered) {
        io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
        char* const memory = buffers_ + buffer * bytes_;
        const auto bytes = static_cast<unsigned>(bytes_);
        const std::uint64_t at = request * bytes_;
        const auto index = static_cast<int>(buffer);
        if (write && registered) io_uring_prep_write_fixed(entry, file_, memory, bytes, at, index);
        if (write && !registered) io_uring_prep_write(entry, file_, memory, bytes, at);
        if (!write && registered) io_uring_prep_read_fixed(entry, file_, memory, bytes, at, index);
        if (!write && !registered) io_uring_prep_read(entry, file_, memory, bytes, at);
        io_uring_sqe_set_data64(entry, buffer);
        if (io_uring_submit(&ring_) != 1) fail("submitting");
    }

    int file_;
    char* buffers_;
    std::size_t bytes_;
    io_uring ring_{};
};

void compare(int file, char* buffers, std::size_t bytes) {
    Ring ring(file, buffers, bytes);
    for (const bool write : {true, false}) {
        std::vector<double> rates[2], cores[2];
        for (int pass = -1; pass < kPasses; ++pass) {
            for (const bool registered : {false, true}) {
                const Cost cost = ring.move(write, registered);
                if (pass < 0) continue;
                rates[registered].push_back(cost.mib_per_s);
                cores[registered].push_back(cost.core_us);
            }
        }
        for (auto* all : {rates, cores})
            for (int i = 0; i < 2; ++i) std::sort(all[i].begin(), all[i].end());
        constexpr int kMiddle = kPasses / 2;
        std::printf(
            "%7zu B %-5s  looked up %6.0f MiB/s, core %6.1f us   registered %6.0f MiB/s, core "
            "%6.1f us\n",
            bytes, write ? "write" : "read", rates[0][kMiddle], cores[0][kMiddle],
            rates[1][kMiddle], cores[1][kMiddle]);
    }
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return std::fprintf(stderr, "usage: registered FILE\n"), 2;
    constexpr std::size_t kLargest = 1 << 20;
    auto* const buffers = static_cast<char*>(std::aligned_alloc(kLargest, kUnderWay * kLargest));
    std::fill(buffers, buffers + kUnderWay * kLargest, 'x');
    const int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (file < 0 || ftruncate(file, kFile) != 0) fail(words[1]);
    for (const std::size_t bytes : {4UL << 10, 64UL << 10, 256UL << 10, kLargest})
        compare(file, buffers, bytes);
    unlink(words[1]);
}
