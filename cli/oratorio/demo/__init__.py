# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio demo`: shows what the library does, with a program of its own."""
