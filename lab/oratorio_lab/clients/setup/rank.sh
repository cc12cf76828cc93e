#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Starts a rank's program. For the upper half of $RANKS ranks the second client's folder is mounted in place of the
# first's, and the process is listed in $RIG/ranks.second.
rank=${PMI_RANK:-${PMIX_RANK:-$OMPI_COMM_WORLD_RANK}}
[ "$((rank * 2))" -lt "$RANKS" ] && exec "$@"
echo $$ >>"$RIG/ranks.second"
exec unshare --mount sh -c 'mount --bind "$CLIENT.second" "$CLIENT" && exec "$@"' sh "$@"
