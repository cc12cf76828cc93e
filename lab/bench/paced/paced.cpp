// SPDX-License-Identifier: BSD-3-Clause
// A file system in memory with storage of a given rate. A request of n bytes is answered n / rate
// seconds after it arrived, or after the previous answer if that was later. No core works for the
// request, except to copy the bytes. `oratorio bench --rate` starts this program.
//
// usage: paced FOLDER
//
// A line "WRITE READ" on stdin sets the rates in bytes per second; 0 means as fast as memory. The
// program answers "ready", which it also prints at the start. At the end of stdin it unmounts and
// removes FOLDER.
//
// It implements the kernel's FUSE protocol itself, for files in one folder only. Reads and writes
// bypass the page cache.
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include "files.hpp"

namespace paced {

namespace {

constexpr std::uint32_t kRequestMax = 1 << 20;
constexpr std::uint32_t kPagesMax = kRequestMax / 4096;
// Bytes of the smallest answer from which the time to copy a byte is taken.
constexpr std::uint64_t kMeasuredMin = 1 << 16;
// Seconds for which the kernel may cache attributes. It may cache them forever, because files never
// change without its knowledge.
constexpr std::uint64_t kForEver = 1'000'000;

std::int64_t nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// One channel to the storage, which serves requests one after another.
class Channel {
  public:
    void set_rate(double bytes_a_second) { rate_ = bytes_a_second; }
    /// Waits until `early` nanoseconds before the storage is done with a request that arrived at
    /// `began`. Work done since then, such as copying the bytes of a write, takes no extra time.
    void wait(std::int64_t began, std::uint64_t bytes, std::int64_t early = 0) {
        if (rate_ <= 0) return;
        const auto lasts = static_cast<std::int64_t>(1e9 * static_cast<double>(bytes) / rate_);
        free_at_ = std::max(free_at_, began) + lasts;
        const std::int64_t end = free_at_ - early;
        const timespec until{end / 1'000'000'000, end % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }

  private:
    double rate_ = 0;
    std::int64_t free_at_ = 0;
};

class Server {
  public:
    explicit Server(int device) : device_(device), request_(kRequestMax + 4096) {}

    /// Serves requests until stdin ends or the folder is unmounted.
    void serve() {
        pollfd watched[] = {{device_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        for (;;) {
            // A request that already waits arrived before the previous one was answered. It counts
            // as arrived at time 0, so that the channel serves it next without a pause.
            came_ = 0;
            if (::poll(watched, 2, 0) == 0) {
                if (::poll(watched, 2, -1) < 0) continue;
                came_ = nanoseconds();
            }
            if (watched[1].revents != 0 && !take_rates()) return;
            if (watched[0].revents == 0) continue;
            const ssize_t got = ::read(device_, request_.data(), request_.size());
            if (got < 0 && errno == ENODEV) return;
            if (got < static_cast<ssize_t>(sizeof head_)) continue;
            std::memcpy(&head_, request_.data(), sizeof head_);
            answer();
        }
    }

  private:
    template <typename T>
    T given() const {
        T value{};
        std::memcpy(&value, request_.data() + sizeof head_, sizeof value);
        return value;
    }
    /// Returns the bytes after a T at the start of the request.
    template <typename T>
    std::byte* after() {
        return request_.data() + sizeof head_ + sizeof(T);
    }
    template <typename T>
    const char* name_after() {
        return reinterpret_cast<const char*>(after<T>());
    }
    const char* name() const {
        return reinterpret_cast<const char*>(request_.data() + sizeof head_);
    }

    void send(int error, std::span<const std::byte> first, std::span<const std::byte> second = {}) {
        fuse_out_header out{};
        out.len = static_cast<std::uint32_t>(sizeof out + first.size() + second.size());
        out.error = -error;
        out.unique = head_.unique;
        const iovec parts[] = {{&out, sizeof out},
                               {const_cast<std::byte*>(first.data()), first.size()},
                               {const_cast<std::byte*>(second.data()), second.size()}};
        // The write fails if the caller no longer waits for the answer.
        [[maybe_unused]] const auto sent = ::writev(device_, parts, 3);
    }
    template <typename T>
    void reply(const T& value) {
        send(0, std::as_bytes(std::span(&value, 1)));
    }
    void done(int error = 0) { send(error, {}); }

    bool take_rates();
    void answer();
    void answer_of_file(File& file);
    void start();
    void make();
    void read(File& file);
    void write(File& file);
    void set(File& file);
    void tell_free();
    [[nodiscard]] static fuse_attr facts_of(const File& file);
    [[nodiscard]] static fuse_entry_out entry_of(const File& file);
    void tell_facts(const File& file) {
        fuse_attr_out out{};
        out.attr_valid = kForEver;
        out.attr = facts_of(file);
        reply(out);
    }

    int device_;
    Channel writes_;
    Channel reads_;
    std::vector<std::byte> request_;
    fuse_in_header head_{};
    std::int64_t came_ = 0;
    /// Nanoseconds per byte of the fastest answer to a large read at these rates; 0 if there was
    /// none yet.
    double copying_ = 0;
    Files files_;
};

bool Server::take_rates() {
    char line[100] = {};
    double write = 0, read = 0;
    if (::read(STDIN_FILENO, line, sizeof line - 1) <= 0) return false;
    if (std::sscanf(line, "%lf %lf", &write, &read) != 2) return false;
    writes_.set_rate(write);
    reads_.set_rate(read);
    copying_ = 0;  // after a wait the caches are cold, so copies take longer than without a rate
    std::puts("ready");
    return true;
}

fuse_attr Server::facts_of(const File& file) {
    fuse_attr facts{};
    facts.ino = file.number;
    facts.size = file.bytes;
    facts.blocks = (file.bytes + 511) / 512;
    facts.mode = file.number == Files::root ? S_IFDIR | 0777 : S_IFREG | 0666;
    facts.nlink = 1;
    facts.blksize = 4096;
    return facts;
}

fuse_entry_out Server::entry_of(const File& file) {
    fuse_entry_out entry{};
    entry.nodeid = file.number;
    entry.entry_valid = entry.attr_valid = kForEver;
    entry.attr = facts_of(file);
    return entry;
}

void Server::start() {
    const auto in = given<fuse_init_in>();
    fuse_init_out out{};
    out.major = FUSE_KERNEL_VERSION;
    out.minor = std::min<std::uint32_t>(in.minor, FUSE_KERNEL_MINOR_VERSION);
    out.flags = in.flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ASYNC_READ | FUSE_ASYNC_DIO);
    out.max_background = 64;
    out.congestion_threshold = 64;
    out.max_write = kRequestMax;
    out.max_pages = kPagesMax;
    out.time_gran = 1;
    reply(out);
}

void Server::make() {
    File& file = files_.make(name_after<fuse_create_in>());
    struct {
        fuse_entry_out entry;
        fuse_open_out opened;
    } out{entry_of(file), {}};
    out.opened.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
    reply(out);
}

void Server::read(File& file) {
    const auto in = given<fuse_read_in>();
    const std::uint64_t there = in.offset < file.bytes ? file.bytes - in.offset : 0;
    const auto bytes = std::min<std::uint64_t>(in.size, there);
    // The kernel copies the bytes when it gets the answer, so the answer is sent that much earlier.
    reads_.wait(came_, bytes, static_cast<std::int64_t>(copying_ * static_cast<double>(bytes)));
    const std::int64_t begin = nanoseconds();
    send(0, std::span(file.data + in.offset, bytes));
    if (bytes < kMeasuredMin) return;
    const double took = static_cast<double>(nanoseconds() - begin) / static_cast<double>(bytes);
    copying_ = copying_ == 0 ? took : std::min(copying_, took);
}

void Server::write(File& file) {
    const auto in = given<fuse_write_in>();
    if (in.offset + in.size > Files::bytes_max) return done(EFBIG);
    std::memcpy(file.data + in.offset, after<fuse_write_in>(), in.size);
    file.bytes = std::max(file.bytes, in.offset + in.size);
    writes_.wait(came_, in.size);
    fuse_write_out out{};
    out.size = in.size;
    reply(out);
}

void Server::set(File& file) {
    const auto in = given<fuse_setattr_in>();
    if ((in.valid & FATTR_SIZE) != 0) {
        if (in.size > Files::bytes_max) return done(EFBIG);
        file.resize(in.size);
    }
    tell_facts(file);
}

void Server::tell_free() {
    fuse_statfs_out out{};
    out.st.bsize = out.st.frsize = 4096;
    out.st.blocks = out.st.bfree = out.st.bavail = Files::bytes_max / 4096;
    out.st.namelen = 255;
    reply(out);
}

void Server::answer() {
    switch (head_.opcode) {
        case FUSE_INIT:
            return start();
        case FUSE_STATFS:
            return tell_free();
        case FUSE_LOOKUP: {
            File* const found = files_.find(name());
            return found == nullptr ? done(ENOENT) : reply(entry_of(*found));
        }
        case FUSE_CREATE:
            return make();
        case FUSE_UNLINK:
            return done(files_.remove(name()) ? 0 : ENOENT);
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            return;  // needs no answer
        default:
            break;
    }
    File* const file = files_.at(head_.nodeid);
    return file == nullptr ? done(ESTALE) : answer_of_file(*file);
}

void Server::answer_of_file(File& file) {
    switch (head_.opcode) {
        case FUSE_GETATTR:
            return tell_facts(file);
        case FUSE_SETATTR:
            return set(file);
        case FUSE_OPEN: {
            fuse_open_out out{};
            out.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
            return reply(out);
        }
        case FUSE_OPENDIR:
            return reply(fuse_open_out{});
        case FUSE_READ:
            return read(file);
        case FUSE_WRITE:
            return write(file);
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_READDIR:  // listing the folder shows no files
        case FUSE_FLUSH:
        case FUSE_FSYNC:
        case FUSE_ACCESS:
            return done();
        default:
            return done(ENOSYS);
    }
}

/// Asks the system to run this process as soon as it has work, because a storage device needs no
/// core.
void behave_as_a_device() {
    const sched_param first{.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &first);
    prctl(PR_SET_TIMERSLACK, 1);
    // stdin ends when the parent process ends, whatever signal its group gets.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
}

}  // namespace

int run(const char* folder) {
    const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const std::string options =
        "fd=" + std::to_string(device) +
        ",rootmode=40000,user_id=0,group_id=0,allow_other,max_read=" + std::to_string(kRequestMax);
    const bool mounted = device >= 0 && ::mount("oratorio-paced", folder, "fuse",
                                                MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (!mounted) {
        std::fprintf(stderr, "can't mount %s: %s\n", folder, std::strerror(errno));
        return 1;
    }
    behave_as_a_device();
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::puts("ready");
    Server(device).serve();
    ::umount2(folder, MNT_DETACH);
    ::rmdir(folder);
    return 0;
}

}  // namespace paced

int main(int argc, char** argv) {
    if (argc == 2) return paced::run(argv[1]);
    std::fputs("usage: paced FOLDER\n", stderr);
    return 2;
}
