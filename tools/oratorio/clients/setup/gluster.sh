#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GlusterFS with two bricks; the steps of step.sh.
serve() {
    # Bricks need a file system with extended attributes of their own.
    mkdir -p /bricks
    mount -t tmpfs tmpfs /bricks
    mkdir /bricks/one /bricks/two /run/gluster
    # Without geo-replication, whose dozen Python programs are most of the start.
    rm -f /usr/lib/*/glusterfs/gsyncd
    glusterd
    tries=0
    until gluster --mode=script volume create data 10.77.0.254:/bricks/one 10.77.0.254:/bricks/two force; do
        tries=$((tries + 1))
        [ "$tries" -lt 20 ]
        sleep 0.5
    done
    # With quick-read a file that is opened again holds what it held a second ago, whatever a program does.
    gluster --mode=script volume set data performance.quick-read off
    gluster --mode=script volume start data
}

attach() { mount -t glusterfs 10.77.0.254:/data "$1"; }
