# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio doctor`: finds what keeps a job from using the library."""
