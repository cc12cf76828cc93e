# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio demo`: a parallel HDF5 checkpoint."""
