#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# CephFS by Linux's client; the steps of step.sh.
. "${0%/*}/ceph_server.sh"
prepare() { modprobe -a ceph; }
attach() {
    mkdir -p "$1"
    mount -i -t ceph 10.77.0.254:6789:/ "$1" -o "name=admin,noatime$OPTIONS"
}
