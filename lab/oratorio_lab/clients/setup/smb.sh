#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SMB 3.1.1 with Samba, with Windows' semantics: locks are mandatory unless $OPTIONS says otherwise. Defines the steps
# of step.sh.
serve() {
    mkdir -p /etc/samba /srv/share /run/samba /var/lib/samba/private /var/log/samba /var/cache/samba
    mount -t tmpfs tmpfs /srv/share
    chmod 777 /srv/share
    # The socket options end the connection of a dead client after 15 s, because Samba keeps the client's locks until then.
    cat >/etc/samba/smb.conf <<SETTINGS
[global]
server role = standalone server
map to guest = bad user
guest account = root
log level = 1
server min protocol = SMB3
load printers = no
disable spoolss = yes
bind interfaces only = no
socket options = TCP_NODELAY SO_KEEPALIVE TCP_KEEPIDLE=5 TCP_KEEPINTVL=3 TCP_KEEPCNT=3 TCP_USER_TIMEOUT=15000
[share]
path = /srv/share
guest ok = yes
guest only = yes
read only = no
create mask = 0777
force user = root
SETTINGS
    ulimit -n 16384
    smbd -D
    sleep 2
}

prepare() { modprobe -a cifs; }

attach() {
    mkdir -p "$1"
    mount -i -t cifs //10.77.0.254/share "$1" \
        -o "guest,ip=10.77.0.254,vers=3.1.1,noperm,sec=none$OPTIONS"
}
