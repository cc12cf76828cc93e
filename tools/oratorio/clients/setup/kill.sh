#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kill.sh FILE SECONDS WORD...: starts the job WORD... (clients_killed.c), kills the second kernel a little after the job has
# made the file $RIG/mark, and looks at what is left. The job must end by itself, but not as if nothing had happened.
file=$1 seconds=$2
shift 2
timeout --kill-after=5 "$seconds" "$@" &
job=$!
until [ -e "$RIG/mark" ]; do
    kill -0 "$job" 2>/dev/null || exit 1
    sleep 0.1
done
sleep 3
: >"$RIG/kill.second"
wait "$job"
code=$?
echo "the job ended with $code"
case $code in
    0) exit 1 ;;
    124 | 137) echo "the job hangs" && exit 1 ;;
esac
exec timeout --kill-after=5 "$seconds" python3 "${0%/*}/../survivor.py" "$file"
