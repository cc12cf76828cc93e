# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio neighbours`: interoperability tests. Runs programs and libraries with which Oratorio shares a
job, each without and with Oratorio."""
