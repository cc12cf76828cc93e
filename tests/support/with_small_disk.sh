#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command with an empty file system of 4 MiB: ORATORIO_SMALL_DISK names a folder on it. Only the command can see
# the file system, which disappears with it. Exits with 77 if mounting is not allowed.
folder=$(mktemp -d) || exit 1
trap 'rmdir "$folder"' EXIT
own="--mount"
[ "$(id -u)" = 0 ] || own="--mount --user --map-root-user"
if ! unshare $own mount -t tmpfs oratorio "$folder"; then
    echo "skipped: no file system can be mounted here"
    exit 77
fi
unshare $own sh -c 'mount -t tmpfs -o size=4m oratorio "$0" && ORATORIO_SMALL_DISK="$0" exec "$@"' "$folder" "$@"
