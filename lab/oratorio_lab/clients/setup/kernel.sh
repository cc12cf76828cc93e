#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The common start of every Linux kernel in user mode; the script of its first process sources this file. $NODE is the
# kernel's number if there are two.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
: >"$RIG/up${NODE:-1}"
export PATH
stop() {
    echo "$1" >"$RIG/why"
    sync
    echo o >/proc/sysrq-trigger
    sleep 100
}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do
    [ -e "/dev/${link%%:*}" ] || ln -s "${link#*:}" "/dev/${link%%:*}"
done
mkdir -p /lib/modules
ln -sfn "/usr/lib/uml/modules/$(uname -r)" "/lib/modules/$(uname -r)"
hostname "$([ "$NODE" = 2 ] && echo second || echo first)"
ip link set lo up
