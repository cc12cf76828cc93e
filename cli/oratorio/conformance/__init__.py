# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio conformance`: compiles and runs the rules in cli/conformance."""
