// SPDX-License-Identifier: BSD-3-Clause
/* Lets Linux in user mode run on processors with a large register state. Preloaded into linux.uml;
 * see clients.py.
 *
 * User-mode Linux (6.1, and 6.12 as Debian has it) keeps the floating-point and vector registers of
 * each process in a buffer of 2696 bytes and restores them with ptrace(PTRACE_SETREGSET,
 * NT_X86_XSTATE). The host's kernel accepts nothing shorter than the processor's whole XSAVE area,
 * which has 11008 bytes with AMX; it fails with EFAULT, and the guest dies at its first exec. This
 * library passes the area at its full length: the guest's bytes, then zeros. Zeros are what a
 * component holds that a guest never used.
 *
 * REQUIRES: one thread at a time calls ptrace() in the process, as in user-mode Linux. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Constants of <linux/ptrace.h> and <linux/elf.h>. Those headers are not included, because they
 * declare what this file defines. */
enum { kPeekFirst = 1, kPeekLast = 3, kSetRegisterSet = 0x4205, kXstate = 0x202 };
enum { kXstateLeaf = 13, kLargest = 1 << 16 };

/* Returns the length of the XSAVE area with all components that the host's kernel enables. */
static size_t area_bytes(void) {
    unsigned a, bytes, c, d;
    return __get_cpuid_count(kXstateLeaf, 0, &a, &bytes, &c, &d) ? bytes : 0;
}

static long call(long request, long process, void* address, void* data) {
    return syscall(SYS_ptrace, request, process, address, data);
}

/* Restores a process's registers from a buffer that may be shorter than the processor's area. */
static long set_xstate(long process, struct iovec* given) {
    /* The area is static because the stacks of user-mode Linux's kernel are too small for it. */
    static char area[kLargest];
    const size_t bytes = area_bytes();
    if (given->iov_len >= bytes || bytes > sizeof area)
        return call(kSetRegisterSet, process, (void*)kXstate, given);
    memcpy(area, given->iov_base, given->iov_len);
    memset(area + given->iov_len, 0, bytes - given->iov_len);
    struct iovec whole = {area, bytes};
    return call(kSetRegisterSet, process, (void*)kXstate, &whole);
}

/* Replaces ptrace() of the C library. For PTRACE_PEEK* it returns the word read, as the C library
 * does. */
long ptrace(int request, ...) {
    va_list list;
    va_start(list, request);
    const long process = va_arg(list, int);
    void* const address = va_arg(list, void*);
    void* const data = va_arg(list, void*);
    va_end(list);
    if (request >= kPeekFirst && request <= kPeekLast) {
        long word;
        if (call(request, process, address, &word) < 0) return -1;
        errno = 0;
        return word;
    }
    if (request == kSetRegisterSet && (long)address == kXstate) return set_xstate(process, data);
    return call(request, process, address, data);
}
