#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kill.sh FILE SECONDS WORD...: starts the job WORD... (clients_killed.c), kills the second client shortly after the job
# has made the file $RIG/mark, and checks FILE with survivor.py. The job must not end as if nothing had happened.
# Launchers without a resource manager do not notice that a node is gone, so this script ends a job that still runs
# $notice_seconds later.
file=$1 seconds=$2 notice_seconds=40
shift 2
timeout --kill-after=5 "$seconds" "$@" &
job=$!
is_running() { kill -0 "$job" 2>/dev/null; }
until [ -e "$RIG/mark" ]; do
    is_running || exit 1
    sleep 0.1
done
sleep 3
: >"$RIG/kill.second"
left=$notice_seconds
while [ "$left" -gt 0 ] && is_running; do
    left=$((left - 1))
    sleep 1
done
if is_running; then
    kill "$job"
    wait "$job"
    echo "the job was ended by the resource manager"
else
    wait "$job"
    code=$?
    [ "$code" != 0 ] || { echo "the job ended as if nothing had happened" && exit 1; }
    echo "the job was ended by the MPI or an error ($code)"
fi
exec timeout --kill-after=5 "$seconds" python3 "${0%/*}/../survivor.py" "$file"
