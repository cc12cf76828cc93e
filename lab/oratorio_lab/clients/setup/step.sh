#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# step.sh STEP [FOLDER]: runs one step of setting up a file system, as the kind's script $SETUP defines it. A step other
# than attach does nothing if the script does not define it. In the frame `namespaces`, only serve and attach are run.
#   serve          starts servers; in the frame `two`, on a machine that is not a client
#   prepare        runs on each client, before there is a file system
#   create         makes the file system, once, on the first client
#   attach FOLDER  mounts the file system, on each client
#   bury           runs on the machine of serve, after the second client was killed
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
serve() { :; }
prepare() { :; }
create() { :; }
bury() { :; }
. "$SETUP"
set -ex
"$@"
