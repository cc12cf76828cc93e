#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the namespaces that contain everything of a kind (rig.py starts it). It makes the machines of
# $FRAME, and ends with the first of them. The root of each is an overlay of this machine's root with the packages of
# $LAYER over it.
#   kernel      one Linux kernel in user mode, with $FIRST as its first process
#   namespaces  no further kernel; $FIRST runs in the root
#   two         two such kernels, first and second, on a bridge, with a disk that both have as /dev/ubda and
#               $FIRST as first process. Before they start, the step `serve` of $SETUP runs on this machine as
#               `host`. The second kernel is killed once the file $RIG/kill.second exists, and then the step `bury` runs.
# The checkout and $RIG (the folder of the run) have the same paths in all machines.
set -e
memory=1500M disk=1G
mount -t proc proc /proc
mount -t tmpfs -o size=90% tmpfs /mnt
mkdir /mnt/layer
# Copies the layer, because an overlay cannot have both a folder and one of its parents as layers.
cp -a "$LAYER/." /mnt/layer

# make_root NAME: makes the root of a machine, as /mnt/NAME/root.
make_root() {
    mkdir -p "/mnt/$1/upper" "/mnt/$1/work" "/mnt/$1/root"
    mount -t overlay overlay -o "lowerdir=/mnt/layer:/,upperdir=/mnt/$1/upper,workdir=/mnt/$1/work" "/mnt/$1/root"
    shared "/mnt/$1/root" "$RIG" "$CHECKOUT"
}

# shared ROOT FOLDER...: binds folders of this machine into the root.
shared() {
    root=$1
    shift
    for folder; do
        mkdir -p "$root$folder"
        mount --rbind "$folder" "$root$folder"
    done
}

# boot NAME WORDS...: becomes a kernel with that machine's root. It has a process namespace of its own, so that its
# processes die with it if it is killed.
boot() {
    root=/mnt/$1/root
    shift
    exec unshare --pid --fork --kill-child --mount-proc env LD_PRELOAD="$FIXES" "$root/usr/bin/linux.uml" root=/dev/root rootfstype=hostfs rootflags="$root" rw \
        mem="$memory" quiet uml_dir=/mnt/uml/ con=null con0=fd:0,fd:1 init="$FIRST" \
        RIG="$RIG" CLIENT="$CLIENT" SETUP="$SETUP" OPTIONS="$OPTIONS" "$@"
}

# Makes the bridge between this machine and the two kernels, and prepares /sys and /dev/shm for the servers.
make_network() {
    mount -t sysfs sysfs /sys
    mount -t tmpfs tmpfs /dev/shm
    hostname host
    ip link set lo up
    ip link add bridge0 type bridge
    ip address add 10.77.0.254/24 dev bridge0
    ip link set bridge0 up
}

name_nodes() {
    printf '127.0.0.1 localhost\n10.77.0.1 first\n10.77.0.2 second\n10.77.0.254 host\n' >"$1/etc/hosts"
}

# Makes the root of this machine as `host`, and starts the servers of $SETUP in it.
serve() {
    make_root host
    name_nodes /mnt/host/root
    shared /mnt/host/root /dev /proc /sys
    on_host serve
}

on_host() { chroot /mnt/host/root sh "${0%/*}/step.sh" "$1"; }

mkdir /mnt/uml
case $FRAME in
    kernel)
        make_root first
        boot first
        ;;
    namespaces)
        make_root host
        shared /mnt/host/root /dev
        exec chroot /mnt/host/root "$FIRST"
        ;;
    two)
        make_network
        truncate -s "$disk" /mnt/disk
        serve || {
            echo "the server can't be set up" >"$RIG/why"
            exit 1
        }
        for node in 2 1; do
            ip tuntap add mode tap name "tap$node"
            ip link set "tap$node" master bridge0 up
            make_root "$node"
            name_nodes "/mnt/$node/root"
            boot "$node" umid="node$node" ubd0c=/mnt/disk "vec0:transport=tap,ifname=tap$node,depth=128,gro=1" \
                NODE="$node" >"$RIG/console$node" 2>&1 </dev/null &
            [ "$node" = 1 ] || second=$!
        done
        first=$!
        { until [ -e "$RIG/kill.second" ]; do sleep 0.2; done && kill -KILL "$second" && on_host bury; } &
        wait "$first"
        ;;
esac
