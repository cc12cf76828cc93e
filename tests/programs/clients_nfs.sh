#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a Linux kernel in user mode (clients.py boots it): an NFSv4.2 server on a tmpfs and two clients of
# it, then $RIG/command, whose exit code goes to $RIG/code. The folder of the first client is $CLIENT, that of the second
# $CLIENT.second, what the server exports /export. Everything ends with the kernel.
. "${0%/*}/clients_kernel.sh"
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery /export "$CLIENT" "$CLIENT.second"
modprobe -a nfsd nfs nfsv4 veth || stop "modules can't be loaded"

# The server. Locks are refused until its time of grace is over; nobody has any to claim.
mount -t tmpfs tmpfs /export
chmod 777 /export
mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind || stop "rpcbind doesn't start"
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
exportfs -i -o rw,no_root_squash,no_subtree_check,fsid=0,sync '*:/export' || stop "exportfs fails"
rpc.mountd --no-nfs-version 3 || stop "rpc.mountd doesn't start"
rpc.nfsd --no-nfs-version 3 4 || stop "rpc.nfsd doesn't start"
echo Y >/proc/fs/nfsd/v4_end_grace

# The second client: another network and another host name make it one, which the server can tell from the first.
ip netns add second
ip link add to-second type veth peer name eth0 netns second
ip address add 10.78.0.1/24 dev to-second
ip link set to-second up
ip -n second address add 10.78.0.2/24 dev eth0
ip -n second link set eth0 up
ip -n second link set lo up
mount -t nfs4 -o vers=4.2 10.78.0.1:/ "$CLIENT" || stop "the first client can't mount"
nsenter --net=/run/netns/second unshare --uts sh -c \
    "hostname second && mount -t nfs4 -o vers=4.2 10.78.0.1:/ '$CLIENT.second'" || stop "the second client can't mount"

if [ -s "$RIG/network" ]; then
    modprobe sch_netem && xargs tc qdisc add dev to-second root netem <"$RIG/network" || stop "no netem"
fi

"$RIG/command"
echo $? >"$RIG/code"
stop ended
