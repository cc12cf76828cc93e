# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio neighbours`: what Oratorio meets in a job, each run without and with Oratorio."""
