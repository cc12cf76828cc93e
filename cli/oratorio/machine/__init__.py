# SPDX-License-Identifier: BSD-3-Clause
"""What is known of this machine: costs and mounts."""
