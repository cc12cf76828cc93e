# SPDX-License-Identifier: BSD-3-Clause
"""Real clients of network and cluster file systems on one machine, and what Oratorio does there.

`kinds` lists the file systems, `layers` unpacks their packages, `rig` boots the machines of a kind, `checks`
says what is run there, and `command` is `oratorio clients`. The scripts in setup/ run in those machines.
"""
