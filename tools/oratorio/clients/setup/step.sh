#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# step.sh STEP [FOLDER]: one step of setting a file system up, as a kind's script $SETUP has it. What it has no function for needs
# nothing done.
#   serve          starts servers, on a machine that is not a client
#   prepare        on each client, before there is a file system
#   create         once, on the first client: makes the file system
#   attach FOLDER  on each client: mounts it
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
serve() { :; }
prepare() { :; }
create() { :; }
. "$SETUP"
set -ex
"$@"
