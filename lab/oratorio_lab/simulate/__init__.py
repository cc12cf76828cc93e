# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio simulate`: what an access would take on another machine."""
