#!/bin/sh -e
# SPDX-License-Identifier: BSD-3-Clause
# usage: failing_disk.sh FOLDER STATE   what the disk of tools/oratorio/clients/setup/disk.sh with that folder does from now on
#   good       all that it is told
#   no-writes  writes fail
#   none       reads and writes fail
#   half       what lies in every second 64 KiB fails
# or what happens to what the kernel has in memory of it:
#   flush      it is written, or fails to be
#   forget     it is read anew (what isn't written stays)
#   anew       the file system is checked and mounted again
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
# The file system isn't asked to write everything first: it can't, or mustn't.
dmsetup suspend --nolockfs "$name"
echo "$table" | dmsetup load "$name"
dmsetup resume "$name"
