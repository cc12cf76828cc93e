# SPDX-License-Identifier: BSD-3-Clause
"""Sets up real clients of network and cluster file systems on one machine, and checks Oratorio there.

`kinds` lists the file systems, `layers` unpacks their packages, `rig` boots the machines of a kind, `checks`
lists what runs there, and `command` is `oratorio clients`. The scripts in setup/ make those machines and run
in them.
"""
