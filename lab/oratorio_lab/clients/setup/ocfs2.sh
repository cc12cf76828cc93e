#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# OCFS2 on a disk that two kernels share, with the cluster stack o2cb. Defines the steps of step.sh.
prepare() {
    modprobe -a configfs ocfs2 ocfs2_stack_o2cb ocfs2_dlmfs
    mkdir -p /dlm /etc/ocfs2
    mount -t configfs configfs /sys/kernel/config
    mount -t ocfs2_dlmfs ocfs2_dlmfs /dlm
    {
        printf 'cluster:\n\theartbeat_mode = local\n\tnode_count = 2\n\tname = lab\n'
        printf '\nnode:\n\tnumber = 1\n\tcluster = lab\n\tip_port = 7778\n\tip_address = 10.77.0.1\n\tname = first\n'
        printf '\nnode:\n\tnumber = 2\n\tcluster = lab\n\tip_port = 7778\n\tip_address = 10.77.0.2\n\tname = second\n'
    } >/etc/ocfs2/cluster.conf
    echo o2cb >/sys/fs/ocfs2/cluster_stack
    o2cb register-cluster lab
}

create() {
    mkfs.ocfs2 -q -F -N 2 -C 4096 -b 4096 -L lab --cluster-stack=o2cb --cluster-name=lab -J size=16M /dev/ubda
}

attach() {
    mkdir -p "$1"
    mount -t ocfs2 /dev/ubda "$1"
}
