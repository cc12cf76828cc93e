// SPDX-License-Identifier: BSD-3-Clause
/* Restores a stopped child's registers from a buffer that is shorter than the processor's XSAVE
 * area, as user-mode Linux does on processors with AMX. The host's kernel refuses that (exit
 * code 3) unless lab/oratorio_lab/clients/uml_fixes.c is preloaded. Exits with 0 if the child
 * then has the registers that were set, 1 if not, 2 if something else fails. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* kXmm3 is the place of XMM3, in the part of the area that every processor has. The bit kSse in
 * kComponents says that the area holds SSE registers. */
enum { kXmm3 = 208, kComponents = 512, kSse = 2, kMissing = 8 };

int main(void) {
    static unsigned char given[1 << 16], found[1 << 16];
    struct iovec all = {given, sizeof given}, again = {found, sizeof found};
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(0);
    }
    int code = 2, status;
    if (waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
        ptrace(PTRACE_GETREGSET, child, (void*)NT_X86_XSTATE, &all) == 0) {
        memset(given + kXmm3, 0x5a, 16);
        given[kComponents] |= kSse;
        struct iovec shorter = {given, all.iov_len - kMissing};
        if (ptrace(PTRACE_SETREGSET, child, (void*)NT_X86_XSTATE, &shorter) != 0) {
            code = errno == EFAULT ? 3 : 2;
        } else if (ptrace(PTRACE_GETREGSET, child, (void*)NT_X86_XSTATE, &again) == 0) {
            code = again.iov_len == all.iov_len && memcmp(given + kXmm3, found + kXmm3, 16) == 0
                       ? 0
                       : 1;
        }
    }
    printf("the area has %zu bytes\n", all.iov_len);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return code;
}
