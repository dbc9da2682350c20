#!/usr/bin/python3
"""Turns the answer of each case of cases.txt over, and sees that the tests of both layers tell each of them.

usage: turned_test.py CASES LEDGER_TEST TRACKER_TEST      the last two are the programs with the tests CountedCases.*

First what counts is turned over in all cases, then what is owned. A program judges each case by itself, and prints the name of
a case that it finds otherwise on a line of its own.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

NAME, COUNTS, OWNERS = 0, 10, 11
# What stands there instead: the opposite, or another part.
INSTEAD = {COUNTS: {"-": "instance", "instance": "-", "old": "new", "new": "old", "instance+old": "instance",
                    "instance+new": "instance+old"},
           OWNERS: {"-": "own", "own": "-", "old": "-", "new": "own", "own+old": "own", "own+new": "own", "old+new": "new"}}


def cells_of(line):
    """The columns of a case; none if the line has no case."""
    cells = [cell.strip() for cell in line.split("|")]
    return cells if len(cells) > OWNERS and cells[NAME] != "case" and not line.startswith("#") else []


def turned_over(lines, column):
    for line in lines:
        cells = cells_of(line)
        if cells:
            cells[column] = INSTEAD[column][cells[column]]
            line = " | ".join(cells)
        yield line


def told(program, path):
    """The lines that the program prints with the cases of `path`; none if it passes."""
    run = subprocess.run([program, "--gtest_filter=CountedCases.*EachCaseAsItSays"], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=dict(os.environ, BERTH_COUNTED_CASES=str(path)))
    return set(run.stdout.splitlines()) if run.returncode else set()


def main():
    cases, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
    lines = cases.read_text(encoding="utf-8").splitlines()
    names = [cells[NAME] for cells in map(cells_of, lines) if cells]
    problems = [f"{program} fails with the cases as they are" for program in programs if told(program, cases)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cases.txt"
        for column, what in (COUNTS, "what counts"), (OWNERS, "what is owned"):
            path.write_text("\n".join(turned_over(lines, column)) + "\n", encoding="utf-8")
            for at, program in enumerate(programs):
                printed = told(program, path)
                # The ledger's test finds out in two ways who has something.
                wanted = names + [f"{name} by refusals" for name in names if at == 0 and column == OWNERS]
                problems += [f"{os.path.basename(program)} does not tell {name}: {what}" for name in wanted if name not in printed]
    print("\n".join(problems) or f"{len(names)} cases turned over twice, each told by {len(programs)} tests")
    return 1 if problems or len(names) < 100 or len(programs) != 2 else 0


if __name__ == "__main__":
    sys.exit(main())
