/* SPDX-License-Identifier: BSD-3-Clause
 * A stand-in for libgpfs: accepts the multiple access range hint as gpfs_fcntl.h describes it, and
 * records the hints. */
#include <errno.h>
#include <string.h>

struct range {
    long long block_number;
    int start;
    int length;
    int is_write;
    char padding[4];
};
struct hint {
    struct {
        int total_length;
        int version;
        int error_offset;
        int reserved;
    } header;
    int length;
    int type;
    int wanted_count;
    int released_count;
    struct range wanted[8];
    struct range released[8];
};

int stand_in_calls;
int stand_in_takes = 8; /* number of ranges that one call accepts */
int stand_in_fails;
int stand_in_descriptor;
struct hint stand_in_hints[16]; /* the hints of the calls, in their order */

int gpfs_fcntl(int descriptor, void* argument) {
    struct hint* const hint = argument;
    if (hint->header.total_length != sizeof *hint || hint->header.version != 1 ||
        hint->type != 1003 || hint->length != sizeof *hint - sizeof hint->header ||
        hint->wanted_count > 8 || hint->released_count > 8 || stand_in_fails) {
        errno = EINVAL;
        return -1;
    }
    stand_in_descriptor = descriptor;
    memcpy(&stand_in_hints[stand_in_calls++ % 16], hint, sizeof *hint);
    if (hint->wanted_count > stand_in_takes) hint->wanted_count = stand_in_takes;
    return 0;
}
