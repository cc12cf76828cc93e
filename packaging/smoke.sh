#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests an installed Oratorio: a program that knows nothing of it writes interleaved ints, and all ranks read them back.
#
# usage: smoke.sh ORATORIO MPICC LAUNCHER...
#   as in: PREFIX/share/oratorio/smoke.sh PREFIX/bin/oratorio mpicc srun -n 2
# The program and its file are in a new folder in $TMPDIR, which all ranks must see.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
oratorio=$1
mpicc=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$mpicc" -o "$folder/smoke" "$here/smoke.c"
"$oratorio" explain "$@" "$folder/smoke" "$folder/out.dat" >"$folder/told" 2>&1 || {
    cat "$folder/told"
    echo "smoke.sh: the program failed"
    exit 1
}
grep -q 'out.dat: collective write' "$folder/told" || {
    cat "$folder/told"
    echo "smoke.sh: the program ran, but not through Oratorio"
    exit 1
}
echo "smoke.sh: the program wrote and read through Oratorio"
