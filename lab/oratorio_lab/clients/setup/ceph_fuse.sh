#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# CephFS with the FUSE client. Defines the steps of step.sh.
. "${0%/*}/ceph_server.sh"
attach() { ceph-fuse --conf /etc/ceph/ceph.conf "$1"; }
