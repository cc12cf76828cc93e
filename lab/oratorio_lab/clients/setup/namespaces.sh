#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a set of namespaces. Starts the servers of $SETUP and mounts their file system three times: as
# $CLIENT, as $CLIENT.second, and as /export, the view of the server. Then runs $RIG/command and writes its exit
# code to $RIG/code. The second client is killed once the file $RIG/kill.second exists. This process is the first of its
# process namespace, so all daemons end with it.
here=${0%/*}
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
: >"$RIG/up1"
stop() {
    echo "$1" >"$RIG/why"
    exit 0
}
# Kills the second client: its ranks, and the daemon of its mount, which has the folder in its command line.
kill_second() {
    until [ -e "$RIG/kill.second" ]; do sleep 0.2; done
    grep -laF "$CLIENT.second" /proc/[0-9]*/cmdline | cut -d/ -f3 | cat - "$RIG/ranks.second" | xargs kill -KILL
}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
hostname first
ip link set lo up
# Servers need an address other than that of the loopback.
ip link add server type veth peer name client
ip address add 10.77.0.254/24 dev server
ip link set server up
ip link set client up
printf '127.0.0.1 localhost first\n10.77.0.254 host\n' >/etc/hosts
sh "$here/step.sh" serve || stop "the servers don't start"
for folder in "$CLIENT" "$CLIENT.second" /export; do
    mkdir -p "$folder"
    sh "$here/step.sh" attach "$folder" || stop "$folder can't be mounted"
done
chmod 777 "$CLIENT"
: >"$RIG/ready"
kill_second &
"$RIG/command"
echo $? >"$RIG/code"
stop ended
