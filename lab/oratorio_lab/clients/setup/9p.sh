#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# 9p with diod and Linux's client. Defines the steps of step.sh.
serve() {
    mkdir -p /srv/share
    mount -t tmpfs tmpfs /srv/share
    chmod 777 /srv/share
    diod -n -e /srv/share -l 0.0.0.0:564 -U root -S -L /tmp/diod.log
    sleep 2
}

# diod waits 22 minutes for a client that is down before it frees its locks, and about two for one that has been restarted.
# With the dead client's address on this machine, the next keepalive message is refused, as by a restarted client.
bury() { ip address add 10.77.0.2/24 dev bridge0; }

prepare() { modprobe -a 9pnet 9pnet_fd 9p; }

attach() {
    mkdir -p "$1"
    mount -i -t 9p 10.77.0.254 "$1" \
        -o "trans=tcp,port=564,aname=/srv/share,version=9p2000.L,uname=root,access=client,msize=65536$OPTIONS"
}
