#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GFS2 on a disk that two kernels share, with corosync and dlm, without fencing. Defines the steps of step.sh.
prepare() {
    modprobe -a configfs dlm gfs2
    mount -t configfs configfs /sys/kernel/config
    mkdir -p /etc/corosync /var/log/cluster /var/lib/corosync /etc/dlm /var/run /dev/misc
    for device in dlm-control dlm-monitor dlm_plock; do ln -sfn "../$device" "/dev/misc/$device"; done
    write_cluster >/etc/corosync/corosync.conf
    printf '%s\n' enable_fencing=0 enable_quorum_lockspace=0 enable_quorum_fencing=0 enable_startup_fencing=0 \
        protocol=tcp >/etc/dlm/dlm.conf
    # Redirects the output, because the agent waits until every process that holds its pipe is gone.
    corosync -f >"/var/log/cluster/corosync" 2>&1 &
    tries=0
    until corosync-quorumtool -s 2>/dev/null | grep -q 'Total votes: *2'; do
        tries=$((tries + 1))
        [ "$tries" -lt 90 ]
        sleep 1
    done
    dlm_controld -D >"/var/log/cluster/dlm" 2>&1 &
    sleep 2
}

write_cluster() {
    cat <<SETTINGS
totem {
  version: 2
  cluster_name: lab
  transport: knet
  crypto_cipher: none
  crypto_hash: none
  token: 10000
}
nodelist {
  node {
    ring0_addr: 10.77.0.1
    name: first
    nodeid: 1
  }
  node {
    ring0_addr: 10.77.0.2
    name: second
    nodeid: 2
  }
}
quorum {
  provider: corosync_votequorum
  two_node: 1
  wait_for_all: 0
}
system {
  sched_rr: no
  qb_ipc_type: shm
}
logging {
  to_stderr: yes
  to_syslog: no
}
SETTINGS
}

create() { mkfs.gfs2 -O -q -p lock_dlm -t lab:data -j 2 -J 32 /dev/ubda; }

attach() {
    mkdir -p "$1"
    timeout 100 mount -t gfs2 -o noatime /dev/ubda "$1"
}
