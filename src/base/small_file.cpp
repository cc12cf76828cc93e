// SPDX-License-Identifier: BSD-3-Clause
#include "base/small_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.hpp"
#include "base/helper_thread.hpp"
#include "base/system_call.hpp"

namespace oratorio {
namespace {

// With O_NONBLOCK, opening a FIFO does not block. With O_NOCTTY, a terminal does not become this
// process's controlling terminal.
constexpr int kAnyThing = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr int kForReader = 1000;  ///< milliseconds that a write waits for room in a pipe

bool can_be_written(int descriptor) {
    pollfd watched{descriptor, POLLOUT, 0};
    return ::poll(&watched, 1, kForReader) > 0;
}

Result<void> write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const Answer written =
            uninterrupted([&] { return ::write(descriptor, text.data(), text.size()); });
        if (!written.failed()) {
            text.remove_prefix(static_cast<std::size_t>(written.result));
        } else if (written.error_number != EAGAIN || !can_be_written(descriptor)) {
            return Error::of_errno("writing", written.error_number);
        }
    }
    return {};
}

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | kAnyThing));
    if (file.number() < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return std::string();
    if (file.number() < 0) return Error::of_errno("opening");
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) return Error::of_errno("fstat");
    if (S_ISDIR(status.st_mode)) return Error::of_errno("reading", EISDIR);
    if (!S_ISREG(status.st_mode))
        return Error::make(ErrorKind::bad_file, "this is not a regular file");
    // Reads up to one byte more than allowed, and ignores st_size, which is 0 for files of /proc.
    std::string text(kSmallFile + 1, '\0');
    std::size_t filled = 0;
    while (filled < text.size()) {
        const Answer got = uninterrupted(
            [&] { return ::read(file.number(), text.data() + filled, text.size() - filled); });
        if (got.failed()) return Error::of_errno("reading", got.error_number);
        if (got.result == 0) break;
        filled += static_cast<std::size_t>(got.result);
    }
    if (filled == text.size())
        return Error::make(ErrorKind::bad_file,
                           "it is longer than 1 MiB, the limit for this kind of file");
    text.resize(filled);
    return text;
}

Result<void> append_to_file(const std::string& path, std::string_view text) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | kAnyThing, 0666));
    if (file.number() < 0)
        return Error::of_errno(errno == ENXIO ? "no process reads from this pipe" : "opening");
    const SignalsBlocked blocked;
    auto written = write_all(file.number(), text);
    if (!written) blocked.discard_signal_of(written.error().system_errno);
    return written;
}

}  // namespace oratorio
