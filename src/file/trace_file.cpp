// SPDX-License-Identifier: BSD-3-Clause
#include "file/trace_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <sstream>
#include <thread>

#include "base/helper_thread.hpp"
#include "base/small_file.hpp"
#include "base/system_call.hpp"

namespace oratorio {

namespace {

constexpr std::string_view kHead = R"({"displayTimeUnit":"ns","oratorio":{"version":1,"began":)";
constexpr std::string_view kList = "},\"traceEvents\":[\n";
constexpr std::string_view kTail = "\n]}\n";
constexpr std::size_t kBuffer = 64 << 10;
constexpr int kNoTerminal = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

std::int64_t microseconds_of(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

/// Returns when the process began, in microseconds since 1970; 0 if the system doesn't say.
std::int64_t find_begin_of_process() {
    const auto status = read_small_file("/proc/self/stat");
    if (!status) return 0;
    // The second word is the program's name in parentheses, which may contain anything.
    std::istringstream words(status->substr(std::min(status->rfind(')') + 1, status->size())));
    // Number of words between the name and the start time, which is in ticks since boot.
    constexpr int kBefore = 19;
    std::string word;
    for (int i = 0; i < kBefore; ++i) words >> word;
    std::int64_t ticks = -1;
    words >> ticks;
    const long per_second = ::sysconf(_SC_CLK_TCK);
    if (!words || ticks < 0 || per_second <= 0) return 0;
    return microseconds_of(CLOCK_REALTIME) - microseconds_of(CLOCK_BOOTTIME) +
           ticks * 1'000'000 / per_second;
}

std::int64_t begin_of_process() {
    static const std::int64_t found = find_begin_of_process();
    return found;
}

std::string read_at(int file, Offset offset, std::size_t bytes) {
    std::string text(bytes, '\0');
    const ssize_t got = ::pread(file, text.data(), bytes, offset);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

/// Locks the file, and waits up to ten seconds for another process that holds the lock. Continues
/// without a lock if the file system has no such locks.
Result<void> lock(int file) {
    using namespace std::chrono_literals;
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL || errno == ENOLCK) break;
        if (errno != EWOULDBLOCK && errno != EINTR) return Error::of_errno("locking");
        if (std::chrono::steady_clock::now() > give_up)
            return Error::make(ErrorKind::file_in_use, "another process holds a lock on the file");
        std::this_thread::sleep_for(1ms);
    }
    return {};
}

Result<void> write_all(int file, std::string_view text, Offset at) {
    const SignalsBlocked blocked;
    while (!text.empty()) {
        const Answer written =
            uninterrupted([&] { return ::pwrite(file, text.data(), text.size(), at); });
        blocked.discard_signal_of(written.error_number);
        if (written.failed()) return Error::of_errno("writing", written.error_number);
        if (written.result == 0) return Error::of_errno("writing", ENOSPC);
        text.remove_prefix(static_cast<std::size_t>(written.result));
        at += written.result;
    }
    return {};
}

/// Returns the length in bytes of the UTF-8 character that the text begins with; 0 if it begins
/// with none (RFC 3629).
std::size_t length_of_character(std::string_view text) {
    const auto byte = [text](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const bool too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool no_character =
        (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
    return too_long || no_character ? 0 : length;
}

}  // namespace

Result<TraceFile> TraceFile::open(const std::string& path, bool adds) {
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) return Error::of_errno("opening", EISDIR);
    if (exists && !S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
        return Error::make(ErrorKind::bad_file, "this is not a regular file");
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | kNoTerminal, 0666));
    if (file.number() < 0) return Error::of_errno("opening");
    if (auto locked = lock(file.number()); !locked) return locked.error();
    if (::fstat(file.number(), &status) != 0) return Error::of_errno("fstat");
    const Bytes size = S_ISREG(status.st_mode) ? status.st_size : 0;
    if (size == 0)
        return TraceFile(std::move(file), std::max<std::int64_t>(begin_of_process(), 0), 0, true);

    const std::string head = read_at(file.number(), 0, 128);
    std::int64_t began = 0;
    const std::size_t number = kHead.size();
    if (!head.starts_with(kHead) ||
        std::from_chars(head.data() + number, head.data() + head.size(), began).ec != std::errc{})
        return Error::make(ErrorKind::file_exists,
                           "the file is not a trace; name another file, or remove it");
    const std::int64_t written =
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000 + status.st_mtim.tv_nsec / 1000;
    if (!adds && written < begin_of_process()) {
        if (::ftruncate(file.number(), 0) != 0) return Error::of_errno("emptying");
        return TraceFile(std::move(file), begin_of_process(), 0, true);
    }
    const auto tail = static_cast<Bytes>(kTail.size());
    if (size < tail || read_at(file.number(), size - tail, kTail.size()) != kTail)
        return Error::make(ErrorKind::bad_file, "the trace ends early; remove it");
    if (size > kTraceFileMost)
        return Error::make(ErrorKind::bad_file,
                           "the trace has reached its limit of 1 GiB; nothing more is added");
    return TraceFile(std::move(file), began, size, false);
}

TraceFile::TraceFile(Descriptor file, std::int64_t began, Bytes size, bool is_new)
    : file_(std::move(file)),
      began_(began),
      before_(size),
      begin_(is_new ? 0 : size - static_cast<Bytes>(kTail.size())),
      at_(begin_) {
    text_.reserve(2 * kBuffer);
    if (is_new) {
        text_.append(kHead).append(std::to_string(began_)).append(kList);
    } else {
        text_.append(",\n");
    }
}

void TraceFile::add(std::string_view event) {
    if (failed_.kind != ErrorKind::none) return;
    if (!first_) text_.append(",\n");
    first_ = false;
    text_.append(event);
    if (text_.size() >= kBuffer) flush();
}

void TraceFile::flush() {
    if (const auto written = write_all(file_.number(), text_, at_); !written)
        failed_ = written.error();
    at_ += static_cast<Offset>(text_.size());
    text_.clear();
}

void TraceFile::give_up(const Error& error) {
    if (failed_.kind == ErrorKind::none) failed_ = error;
}

Result<void> TraceFile::close() {
    if (failed_.kind == ErrorKind::none) {
        text_.append(kTail);
        flush();
    }
    if (failed_.kind != ErrorKind::none) {
        // If this fails as well, the tool that reads the trace reports it.
        (void)::ftruncate(file_.number(), before_);
        if (before_ > 0) (void)write_all(file_.number(), kTail, begin_);
    }
    const auto closed = file_.close();
    if (failed_.kind != ErrorKind::none) return failed_;
    return closed;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        const char first = text.front();
        if (length == 0) {
            out += "\\ufffd";
        } else if (first == '"' || first == '\\') {
            out.append("\\").append(1, first);
        } else if (length == 1 && first < ' ') {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(first));
            out += escaped;
        } else {
            out.append(text.substr(0, length));
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out + "\"";
}

}  // namespace oratorio
