# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio trace`: draws a trace, and extracts its accesses."""
