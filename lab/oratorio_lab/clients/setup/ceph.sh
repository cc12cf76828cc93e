#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# CephFS with Linux's client. Defines the steps of step.sh.
. "${0%/*}/ceph_server.sh"
prepare() { modprobe -a ceph; }
# Retries, because the mount is refused while the metadata server is slow to answer.
attach() {
    mkdir -p "$1"
    tries=0
    until mount -i -t ceph 10.77.0.254:6789:/ "$1" -o "name=admin,noatime$OPTIONS"; do
        tries=$((tries + 1))
        [ "$tries" -lt 30 ]
        sleep 2
    done
}
