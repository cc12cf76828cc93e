// SPDX-License-Identifier: BSD-3-Clause
#include "base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace oratorio {

int behind_standard(int number) {
    if (number < 0 || number > STDERR_FILENO) return number;
    const int behind = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int reason = errno;
    ::close(number);
    errno = reason;
    return behind;
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

Descriptor::~Descriptor() {
    (void)close();
}

Result<void> Descriptor::close() {
    const int number = std::exchange(number_, -1);
    // Linux has closed the descriptor even if close(2) fails with EINTR. The call is not repeated,
    // because by then the number may name another file.
    if (number < 0 || ::close(number) == 0 || errno == EINTR) return {};
    return Error::of_errno("close");
}

}  // namespace oratorio
