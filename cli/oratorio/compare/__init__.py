# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio compare`: runs the same job with and without the library."""
