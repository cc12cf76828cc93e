// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io_faults.hpp"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <vector>

namespace oratorio::test {
namespace {

using Call = ssize_t (*)(int, const iovec*, int, off_t);

IoFault fault;
std::atomic<long> touched_calls = 0;
std::atomic<long> met = 0;
std::atomic<long long> vanished = 0;

Call real(const char* name) {
    return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

bool is_of_the_file(int descriptor) {
    if (fault.file == nullptr) return true;
    char path[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
    return length > 0 &&
           std::string_view(path, static_cast<std::size_t>(length)).ends_with(fault.file);
}

/// Counts a call that touches the range of the fault. Returns true if the fault applies to it.
bool is_chosen(int descriptor) {
    if (fault.kind == IoFault::Kind::none || !is_of_the_file(descriptor)) return false;
    return ++touched_calls == fault.nth || fault.nth == 0;
}

ssize_t half(Call call, int descriptor, const iovec* memory, int count, off_t offset,
             ssize_t length) {
    std::vector<iovec> first;
    auto left = static_cast<std::size_t>(length > 1 ? length / 2 : length);
    for (int i = 0; i < count && left > 0; ++i) {
        first.push_back({memory[i].iov_base, memory[i].iov_len < left ? memory[i].iov_len : left});
        left -= first.back().iov_len;
    }
    return call(descriptor, first.data(), static_cast<int>(first.size()), offset);
}

ssize_t faulty(Call call, bool reading, int descriptor, const iovec* memory, int count,
               off_t offset) {
    ssize_t length = 0;
    for (int i = 0; i < count; ++i) length += static_cast<ssize_t>(memory[i].iov_len);
    const bool touched = (reading ? fault.reads : fault.writes) && offset < fault.end &&
                         offset + length > fault.first;
    if (!touched || !is_chosen(descriptor)) return call(descriptor, memory, count, offset);
    ++met;
    switch (fault.kind) {
        case IoFault::Kind::fails:
            errno = fault.system_errno;
            return -1;
        case IoFault::Kind::full:
            errno = ENOSPC;
            return -1;
        case IoFault::Kind::cut_short:
            return half(call, descriptor, memory, count, offset, length);
        case IoFault::Kind::vanishes:
            vanished += length;
            return length;
        case IoFault::Kind::interrupted:
            if (met % 2 == 1) {
                errno = EINTR;
                return -1;
            }
            break;
        case IoFault::Kind::none:
            break;
    }
    return call(descriptor, memory, count, offset);
}

}  // namespace

void set_io_fault(const IoFault& next) {
    fault = next;
    touched_calls = 0;
    met = 0;
    vanished = 0;
}
long io_faults_met() {
    return met;
}
long long bytes_vanished() {
    return vanished;
}

}  // namespace oratorio::test

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED ssize_t preadv(int descriptor, const iovec* memory, int count, off_t offset) {
    static const auto call = oratorio::test::real("preadv");
    return oratorio::test::faulty(call, true, descriptor, memory, count, offset);
}

EXPORTED ssize_t pwritev(int descriptor, const iovec* memory, int count, off_t offset) {
    static const auto call = oratorio::test::real("pwritev");
    return oratorio::test::faulty(call, false, descriptor, memory, count, offset);
}

EXPORTED ssize_t pread(int descriptor, void* data, size_t length, off_t offset) {
    const iovec memory{data, length};
    return preadv(descriptor, &memory, 1, offset);
}

EXPORTED ssize_t pwrite(int descriptor, const void* data, size_t length, off_t offset) {
    const iovec memory{const_cast<void*>(data), length};
    return pwritev(descriptor, &memory, 1, offset);
}
