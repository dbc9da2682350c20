#!/usr/bin/python3
"""Compares the sizes of a release build with deploy/containers/sizes.tsv. An image consists of little else.

A size may be 1 % above the recorded one. A size that is more than 1 % below it must be recorded, so that it stays.

usage: tests/deploy/sizes.py BUILD_DIRECTORY [FILE]     exit 1 if a size differs by more; FILE instead of sizes.tsv
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FIGURES = pathlib.Path(__file__).resolve().parents[2] / "deploy/containers/sizes.tsv"
PROGRAMS = ("berth-placement", "berth-tracker", "berth")
ALLOWED = 0.01
# The image of the tracker has a small library of ours in their place: see deploy/containers/no_icu.c.
LEFT_OUT = re.compile(r"libicu(uc|data)\.so\.\d+$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def stripped_bytes(program):
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / program.name
        output("strip", "-o", copy, program)
        return copy.stat().st_size


def library_bytes(program):
    """The bytes of all libraries that the loader finds for a program."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.M)
    return sum(pathlib.Path(file).stat().st_size for name, file in found if not LEFT_OUT.match(name))


def measured(build):
    """(name, bytes) of each program, and of the libraries that it is linked with."""
    for name in PROGRAMS:
        (program,) = [path for path in (build / "services").rglob(name) if path.is_file()]
        yield name, stripped_bytes(program)
        yield f"libraries of {name}", library_bytes(program)


def recorded(file):
    rows = [line.split("\t") for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(number) for name, number in rows}


def problem(name, size, before):
    """What is wrong with a size, given the recorded one; None if nothing is."""
    if before is None:
        return f"{name}: {size} bytes are not recorded: add the row"
    if size > before * (1 + ALLOWED):
        return (f"{name}: {size} bytes, {size - before} more than the recorded {before}: find what grew, "
                "or raise the figure and say why in the commit")
    if size < before * (1 - ALLOWED):
        return f"{name}: {size} bytes, {before - size} fewer than the recorded {before}: lower the figure"
    return None


def problems(sizes, figures):
    """(problem) of every size, and of every figure that nothing has."""
    yield from filter(None, (problem(name, size, figures.get(name)) for name, size in sizes.items()))
    yield from (f"{name}: recorded, but there is no such thing: remove the row" for name in figures if name not in sizes)


def main():
    sizes = dict(measured(pathlib.Path(sys.argv[1])))
    found = list(problems(sizes, recorded(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else FIGURES)))
    print(*(f"{name}\t{size}" for name, size in sizes.items()), sep="\n")
    print(*found or ["sizes: as recorded"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
