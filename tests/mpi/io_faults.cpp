// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io_faults.hpp"

#include <dlfcn.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <vector>

namespace oratorio::test {
namespace {

using Call = ssize_t (*)(int, const iovec*, int, off_t);

IoFault fault;
std::atomic<long> met = 0;
std::atomic<long long> vanished = 0;

Call real(const char* name) {
    return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
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
    if (!touched || fault.kind == IoFault::Kind::none)
        return call(descriptor, memory, count, offset);
    ++met;
    switch (fault.kind) {
        case IoFault::Kind::fails:
            errno = EIO;
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
