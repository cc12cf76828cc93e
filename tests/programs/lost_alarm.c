// SPDX-License-Identifier: BSD-3-Clause
/* Asks for one alarm and ignores it, as user-mode Linux does if it is handling another one. Exits
 * with 0 if a second alarm comes within two seconds, as with lab/oratorio_lab/clients/uml_fixes.c
 * preloaded; 3 if none comes; 2 if something else fails, or if an alarm comes after the timer
 * was stopped. */
#define _GNU_SOURCE
#include <signal.h>
#include <time.h>

/* Waits for an alarm; returns whether one came in time. REQUIRES: SIGALRM is blocked. */
static int alarm_within(long nanoseconds, time_t seconds) {
    const struct timespec limit = {seconds, nanoseconds};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    return sigtimedwait(&alarms, NULL, &limit) == SIGALRM;
}

int main(void) {
    const struct itimerspec once = {.it_value = {0, 1000000}}, never = {.it_value = {0, 0}};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, NULL);
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0) return 2;
    if (timer_settime(timer, 0, &once, NULL) != 0 || !alarm_within(0, 30)) return 2;
    if (!alarm_within(0, 2)) return 3;
    if (timer_settime(timer, 0, &never, NULL) != 0) return 2;
    (void)alarm_within(0, 0); /* one that expired before the timer was stopped */
    return alarm_within(100000000, 0) ? 2 : 0;
}
