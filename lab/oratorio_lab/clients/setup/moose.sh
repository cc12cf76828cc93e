#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MooseFS with a master and one chunk server. Defines the steps of step.sh.
serve() {
    mkdir -p /etc/mfs /var/lib/mfs /run/mfs /chunks
    mount -t tmpfs -o size=3G tmpfs /chunks
    cp /var/lib/mfs/metadata.mfs.empty /var/lib/mfs/metadata.mfs
    {
        printf 'WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = /var/lib/mfs\n'
        # The shortest time after which a dead client loses its locks; a day by default.
        echo 'SESSION_SUSTAIN_TIME = 60'
    } >/etc/mfs/mfsmaster.cfg
    echo '* / rw,alldirs,admin,maproot=0:0' >/etc/mfs/mfsexports.cfg
    {
        printf 'WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = /var/lib/mfs\n'
        printf 'MASTER_HOST = 10.77.0.254\nHDD_LEAVE_SPACE_DEFAULT = 16MiB\n'
    } >/etc/mfs/mfschunkserver.cfg
    echo /chunks >/etc/mfs/mfshdd.cfg
    echo '10.77.0.254 mfsmaster' >>/etc/hosts
    mfsmaster start
    mfschunkserver start
}

# Retries, because a chunk server may take some seconds before it offers space.
attach() {
    mfsmount "$1" -H 10.77.0.254 -o mfscachemode=AUTO
    mfssetgoal -r 1 "$1"
    tries=0
    until echo space >"$1/space"; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ]
        sleep 0.5
    done
}
