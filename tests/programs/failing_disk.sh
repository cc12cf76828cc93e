#!/bin/sh -e
# SPDX-License-Identifier: BSD-3-Clause
# usage: failing_disk.sh FOLDER STATE: sets how the disk with that folder (lab/oratorio_lab/clients/setup/disk.sh)
# behaves.
#   good       everything works
#   no-writes  writes fail
#   none       reads and writes fail
#   half       accesses to every other block of 64 KiB fail
# STATE can also be an action on what the kernel has cached of the disk:
#   flush      writes the cached data, or fails to
#   forget     drops the cached data, so that it is read again (data that is not written stays)
#   anew       checks the file system and mounts it again
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH DM_DISABLE_UDEV=1
name=${1##*/} sectors=131072
case $name in plain) device=/dev/ram0 ;; *) device=/dev/ram1 ;; esac
case $2 in
    flush) sync -f "$1" 2>/dev/null || true && exit ;;
    forget) echo 3 >/proc/sys/vm/drop_caches && exit ;;
    anew)
        umount "$1"
        e2fsck -p "/dev/mapper/$name" >/dev/null || [ $? -le 1 ]
        mount -t ext4 -o noatime "/dev/mapper/$name" "$1"
        exit
        ;;
    good) table="0 $sectors linear $device 0" ;;
    no-writes) table="0 $sectors flakey $device 0 0 1 1 error_writes" ;;
    none) table="0 $sectors error" ;;
    half) table=$(awk -v n=$sectors -v d=$device 'BEGIN {
        for (at = 0; at < n; at += 256) print at, 128, "linear", d, at "\n" at + 128, 128, "error" }') ;;
esac
# --nolockfs keeps dmsetup from asking the file system to write everything first, which it cannot or
# must not do.
dmsetup suspend --nolockfs "$name"
echo "$table" | dmsetup load "$name"
dmsetup resume "$name"
