// SPDX-License-Identifier: BSD-3-Clause
/* A library to preload if an MPI over UCX polls without ever releasing the processor (MPICH 4.0).
 * Yields the processor after each poll that found nothing, so that more ranks than cores make
 * progress. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker);

/* Returns the function of UCX that this file replaces. In a program that loads its MPI late
 * (Python), UCX is not where RTLD_NEXT looks. */
static void* real_progress(void) {
    void* next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (next) return next;
    return dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
}

unsigned ucp_worker_progress(void* worker) {
    static unsigned (*progress)(void*);
    if (!progress) *(void**)&progress = real_progress();
    unsigned events = progress(worker);
    if (events == 0) sched_yield();
    return events;
}
