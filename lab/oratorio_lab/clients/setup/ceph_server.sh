#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# CephFS with one monitor, two object stores in memory and one metadata server at 10.77.0.254; no manager, no keys. The
# scripts of both kinds of clients source this file.
serve() {
    mkdir -p /etc/ceph /var/lib/ceph /run/ceph /var/log/ceph /var/lib/ceph/mon/ceph-a /var/lib/ceph/mds/ceph-a
    id=$(cat /proc/sys/kernel/random/uuid)
    write_settings >/etc/ceph/ceph.conf
    monmaptool --create --clobber --fsid "$id" --addv a "[v2:10.77.0.254:3300/0,v1:10.77.0.254:6789/0]" /tmp/monmap
    : >/etc/ceph/ceph.client.admin.keyring
    ceph-mon --mkfs -i a --monmap /tmp/monmap --keyring /dev/null
    ceph-mon -i a
    for store in 0 1; do
        mkdir -p /var/lib/ceph/osd/ceph-$store
        uuid=$(cat /proc/sys/kernel/random/uuid)
        ceph osd new "$uuid"
        ceph-osd -i "$store" --mkfs --osd-uuid "$uuid"
        ceph-osd -i "$store"
    done
    ceph-mds -i a
    ceph osd pool create meta 8
    ceph osd pool create data 8
    ceph fs new lab meta data
    # The smallest values that Ceph allows. A dead client loses its locks after session_autoclose, by default 300 s.
    ceph fs set lab session_timeout 30
    ceph fs set lab session_autoclose 30
    tries=0
    until ceph mds stat | grep -q up:active; do
        tries=$((tries + 1))
        [ "$tries" -lt 120 ]
        sleep 0.5
    done
}

write_settings() {
    cat <<SETTINGS
[global]
fsid = $id
mon host = [v2:10.77.0.254:3300/0,v1:10.77.0.254:6789/0]
public addr = 10.77.0.254
cluster addr = 10.77.0.254
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail crit = 1
mon data avail warn = 1
osd objectstore = memstore
memstore device bytes = 1073741824
memstore page set = true
setuser match path = /nowhere
log file = /var/log/ceph/\$name.log
run dir = /run/ceph
mds beacon grace = 120
mon lease = 60
mon election timeout = 60
osd heartbeat grace = 120
SETTINGS
}
