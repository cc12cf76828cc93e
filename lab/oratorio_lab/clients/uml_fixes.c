// SPDX-License-Identifier: BSD-3-Clause
/* Corrects two faults of Linux in user mode (6.1, and 6.12 as Debian has it). rig.py preloads this
 * library into linux.uml.
 *
 * Registers. User-mode Linux keeps the floating-point and vector registers of
 * each process in a buffer of 2696 bytes and restores them with ptrace(PTRACE_SETREGSET,
 * NT_X86_XSTATE). The host's kernel accepts nothing shorter than the processor's whole XSAVE area,
 * which has 11008 bytes with AMX. Otherwise the call fails with EFAULT, and the guest dies at its
 * first exec. This library passes the area at its full length: the guest's bytes, then zeros. A
 * component that a guest never used holds zeros.
 *
 * Timer. An alarm that arrives while the guest handles an alarm may be lost: unblock_signals()
 * clears it without entering the handler again. The guest asks for each alarm separately, so no
 * other alarm follows: its clock stops, and sleeping processes never wake. On a busy machine this
 * happened every few minutes. This library asks the host for the alarm and for another one every
 * 10 ms, until the guest asks for the next. A guest ignores an alarm that comes too early.
 *
 * REQUIRES: one thread at a time calls ptrace() in the process, as in user-mode Linux. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Constants of <sys/ptrace.h> and <linux/elf.h>. <sys/ptrace.h> is not included, because it
 * declares ptrace() with an enum as first parameter. */
enum { kPeekFirst = 1, kPeekLast = 3, kSetRegisterSet = 0x4205, kXstate = 0x202 };
enum { kXstateLeaf = 13, kLargest = 1 << 16, kAgainNanoseconds = 10 * 1000 * 1000 };

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

/* Replaces timer_settime() of the C library: a timer that is to expire once expires again every
 * 10 ms until it is set again. */
int timer_settime(timer_t timer, int flags, const struct itimerspec* asked,
                  struct itimerspec* before) {
    static int (*next)(timer_t, int, const struct itimerspec*, struct itimerspec*);
    if (next == NULL) next = dlsym(RTLD_NEXT, "timer_settime");
    struct itimerspec again = *asked;
    const int is_set = asked->it_value.tv_sec != 0 || asked->it_value.tv_nsec != 0;
    const int is_once = asked->it_interval.tv_sec == 0 && asked->it_interval.tv_nsec == 0;
    if (is_set && is_once) again.it_interval.tv_nsec = kAgainNanoseconds;
    return next(timer, flags, &again, before);
}
