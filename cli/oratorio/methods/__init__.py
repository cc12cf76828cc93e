# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio methods`: lists the methods."""
