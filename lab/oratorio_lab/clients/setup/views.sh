#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# views.sh FRAME [THIRD]: checks that all files hold the same bytes for both clients and for a third view: the folder
# THIRD, or the file system mounted again. $RIG/copies, if it exists, has what rank 0 of the oracle read of its files.
here=${0%/*}
. "$here/both.sh"
frame=$1 third=$2
sums="find . -type f | sort | xargs -r -d '\n' sha256sum"
sync
(cd "$CLIENT" && eval "$sums") >"$RIG/view.first"
if [ "$frame" = two ]; then
    on_second "cd '$CLIENT' && $sums" >"$RIG/view.second"
else
    (cd "$CLIENT.second" && eval "$sums") >"$RIG/view.second"
fi
if [ -z "$third" ]; then
    both "umount '$CLIENT' && sh '$here/step.sh' attach '$CLIENT'" >"$RIG/mounted.again" 2>&1 || {
        cat "$RIG/mounted.again"
        exit 1
    }
    third=$CLIENT
fi
(cd "$third" && eval "$sums") >"$RIG/view.third"
echo "$(wc -l <"$RIG/view.third") files"
diff "$RIG/view.first" "$RIG/view.second" || exit 1
diff "$RIG/view.first" "$RIG/view.third" || exit 1
[ ! -d "$RIG/copies" ] || diff -r "$RIG/copies" "$third/oracle"
