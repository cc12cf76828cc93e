# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio learned`: the times of earlier jobs from which `auto` chooses methods."""
