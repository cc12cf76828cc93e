#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a set of namespaces (clients.py makes them): GlusterFS with two bricks and three
# mounts of it: $CLIENT, $CLIENT.second and /export, which stands for the server; then $RIG/command, whose exit code goes to
# $RIG/code. All daemons end with this process, as the first of its process namespace.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
: >"$RIG/up"
export PATH
stop() {
    echo "$1" >"$RIG/why"
    exit 0
}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
# Bricks need a file system with extended attributes of their own, and an address that isn't the loopback's.
mkdir -p /bricks /export "$CLIENT" "$CLIENT.second"
mount -t tmpfs tmpfs /bricks
mkdir /bricks/one /bricks/two /run/gluster
hostname first
ip link set lo up
ip link add brick0 type veth peer name brick1
ip address add 10.79.0.1/24 dev brick0
ip link set brick0 up
ip link set brick1 up
echo "127.0.0.1 localhost first" >/etc/hosts
# Without geo-replication, whose dozen Python programs are most of the start.
rm -f /usr/lib/*/glusterfs/gsyncd
glusterd || stop "glusterd doesn't start"
tries=0
until gluster --mode=script volume create data 10.79.0.1:/bricks/one 10.79.0.1:/bricks/two force; do
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || stop "no volume can be made"
    sleep 0.5
done
# Else what a small file held a second ago is read after it is opened anew, whatever a program does.
gluster --mode=script volume set data performance.quick-read off || stop "quick-read can't be turned off"
gluster --mode=script volume start data || stop "the volume doesn't start"
for folder in "$CLIENT" "$CLIENT.second" /export; do
    mount -t glusterfs 10.79.0.1:/data "$folder" || stop "$folder can't be mounted"
done
chmod 777 "$CLIENT"
"$RIG/command"
echo $? >"$RIG/code"
stop ended
