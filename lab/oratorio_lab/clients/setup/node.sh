#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of each of two kernels. The second kernel only runs what the first sends to its agent. The first
# takes both through the steps of $SETUP, then runs $RIG/command and writes its exit code to $RIG/code; everything ends
# with the first.
here=${0%/*}
. "$here/kernel.sh"
. "$here/both.sh"
export HOME=/root RIG CLIENT SETUP OPTIONS NODE
ip address add "10.77.0.$NODE/24" dev vec0
ip link set vec0 up
python3 -S "$here/../agent.py" &
while [ "$NODE" = 2 ]; do sleep 1000; done

tries=0
until on_second true 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || stop "the second kernel's agent can't be reached"
    sleep 0.2
done
step="sh $here/step.sh"
both "$step prepare" || stop "the nodes can't be prepared"
$step create || stop "the file system can't be made"
both "$step attach $CLIENT" || stop "$CLIENT can't be mounted"
chmod 777 "$CLIENT"
if [ -s "$RIG/network" ]; then
    modprobe sch_netem && xargs tc qdisc add dev vec0 root netem <"$RIG/network" || stop "netem can't be set up"
fi
: >"$RIG/ready"
"$RIG/command"
echo $? >"$RIG/code"
stop ended
