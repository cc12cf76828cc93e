# SPDX-License-Identifier: BSD-3-Clause
"""python -m oratorio"""

from oratorio.start import main

main()
