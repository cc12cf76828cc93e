#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Functions for the first of two kernels; other scripts source this file. REQUIRES: $here is the folder of this file.
on_second() { "$here/../remote_shell.py" second "$@"; }

# both COMMAND: runs a shell command on both nodes at once; true if both succeed.
both() {
    on_second "$1" &
    sh -c "$1"
    code=$?
    wait $! && [ "$code" = 0 ]
}
