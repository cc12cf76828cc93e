#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GlusterFS with two bricks. Defines the steps of step.sh.
serve() {
    # Bricks need a file system of their own with extended attributes.
    mkdir -p /bricks
    mount -t tmpfs tmpfs /bricks
    mkdir /bricks/one /bricks/two /run/gluster
    # Removes geo-replication, because its dozen Python programs take most of the start.
    rm -f /usr/lib/*/glusterfs/gsyncd
    glusterd
    tries=0
    until gluster --mode=script volume create data 10.77.0.254:/bricks/one 10.77.0.254:/bricks/two force; do
        tries=$((tries + 1))
        [ "$tries" -lt 20 ]
        sleep 0.5
    done
    # With quick-read a reopened file shows its contents of up to a second ago, whatever a program does.
    gluster --mode=script volume set data performance.quick-read off
    gluster --mode=script volume start data
}

attach() { mount -t glusterfs 10.77.0.254:/data "$1"; }
