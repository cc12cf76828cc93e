# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio simulate`: predicts how long an access would take on another machine."""
