# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio neighbours`: interoperability tests; runs what Oratorio meets in a job without and with it."""
