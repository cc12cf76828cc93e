# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench`: runs the program in lab/bench, and draws and reports what it measured."""
