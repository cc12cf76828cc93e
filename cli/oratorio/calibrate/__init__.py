# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio calibrate`: measures the costs of a machine, by which `auto` chooses methods."""
