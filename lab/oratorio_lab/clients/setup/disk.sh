#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a Linux kernel in user mode (rig.py boots it). Makes two disks in memory that can be made to fail
# (failing_disk.sh), with ext4 on them: $CLIENT/journal has a journal, so it turns read-only when the disk fails;
# $CLIENT/plain has none and goes on. Then runs $RIG/command and writes its exit code to $RIG/code. Everything ends with
# the kernel.
. "${0%/*}/kernel.sh"
modprobe brd rd_nr=2 rd_size=65536 || stop "brd can't be loaded, so there are no disks in memory"
modprobe -a ext4 dm-mod dm-flakey || stop "modules can't be loaded"
export DM_DISABLE_UDEV=1

# make NAME DEVICE WORDS...: makes a file system on a disk.
make() {
    name=$1 device=$2
    shift 2
    mkdir -p "$CLIENT/$name"
    dmsetup create "$name" --table "0 131072 linear $device 0" || stop "dmsetup can't create $name"
    mkfs.ext4 -q -b 4096 -N 256 -E nodiscard,lazy_itable_init=0 "$@" "/dev/mapper/$name" || stop "mkfs.ext4 fails"
    mount -t ext4 -o noatime "/dev/mapper/$name" "$CLIENT/$name" || stop "$name can't be mounted"
}
make plain /dev/ram0 -O ^has_journal
make journal /dev/ram1

"$RIG/command"
echo $? >"$RIG/code"
stop ended
