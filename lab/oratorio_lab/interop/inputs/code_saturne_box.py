# SPDX-License-Identifier: BSD-3-Clause
"""Prints a box of N x N x N hexahedral cells as a gmsh 2.2 mesh: code_saturne_box.py N > box.msh"""

import itertools
import sys

QUADRANGLE, HEXAHEDRON = 3, 5  # types of gmsh
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))  # corners of a face, counter-clockwise


def main() -> None:
    n = int(sys.argv[1])

    def number(i: int, j: int, k: int) -> int:
        return 1 + i + (n + 1) * (j + (n + 1) * k)

    cells, nodes = range(n), range(n + 1)
    print(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{(n + 1) ** 3}")
    for k, j, i in itertools.product(nodes, nodes, nodes):
        print(number(i, j, k), i / n, j / n, k / n)
    elements = []
    for k, j, i in itertools.product(cells, cells, cells):
        around = [number(i + a, j + b, k + c) for c in (0, 1) for a, b in CORNERS]
        elements.append((HEXAHEDRON, 1, around))
    # Two groups of faces are the inlet and the outlet, and the third has the four walls.
    for p, q in itertools.product(cells, cells):
        corners = [(p + a, q + b) for a, b in CORNERS]
        for end, group in ((0, 2), (n, 3)):
            elements.append((QUADRANGLE, group, [number(end, a, b) for a, b in corners]))
        for end in (0, n):
            elements.append((QUADRANGLE, 4, [number(a, end, b) for a, b in corners]))
            elements.append((QUADRANGLE, 4, [number(a, b, end) for a, b in corners]))
    print(f"$EndNodes\n$Elements\n{len(elements)}")
    for count, (kind, group, around) in enumerate(elements, 1):
        print(count, kind, 2, group, group, *around)
    print("$EndElements")


if __name__ == "__main__":
    main()
