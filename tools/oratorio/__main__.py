"""python -m oratorio"""

from oratorio.cli import main

main()
