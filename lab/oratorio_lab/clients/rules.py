# SPDX-License-Identifier: BSD-3-Clause
"""Runs the rules of the standard on the clients: rules.py FOLDER SECONDS SECTIONS MPICC WORD...

The words are the launcher. Sections are separated by commas; '-' means all. Prints each broken rule, then
the number of rules that were kept. Runs with Debian's Python, without packages from outside this checkout.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / name) for name in ("cli", "lab", "dev")]

from oratorio.conformance import conformance


def main() -> int:
    """Runs the rules; returns 0 whatever their outcome."""
    folder, seconds, sections, compiler, *launcher = sys.argv[1:]

    def tell(outcome: conformance.Outcome) -> None:
        if outcome.result in conformance.BROKEN:
            rule = outcome.rule
            print(f"broken {rule.id} ({rule.section}): {outcome.result} {outcome.message}", flush=True)

    report = conformance.run_rules(
        launcher, mpicc=Path(compiler), folder=Path(folder), seconds=int(seconds), advance=tell,
        sections=[] if sections == "-" else sections.split(","),
    )  # fmt: skip
    print(f"kept {report.count(conformance.OK)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
