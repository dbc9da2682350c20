#!/usr/bin/python3
"""Breaks the product in many ways and sees that the history test, or the test of the part, finds each.

A copy of the product gets a few lines changed for each mutant; which of them counts a file says when a process starts,
so that it is built once. A mutant that survives is a bug of the test. Where a promise has no part of its own here,
the nearest that has one is broken: a comment says so.

usage: mutants.py [--seconds N] [--seed N] [NAME...]      all of them, or those named; `none` is each of their tests
                                                on the product as it is
       mutants.py --look      only whether the product still has each place that they change
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import mutations
from mutations_of_parts import PARTS
from mutations_of_turns import TURNS

# The mutants of parts have no names of tests in common: each has tests of its own, under its own name.
TESTS = {**mutations.TESTS, **{name: (program, tests) for name, program, tests, _ in PARTS + TURNS}}
MUTANTS = [*(("none", which, []) for which in {test: which for which, test in TESTS.items()}.values()), *mutations.MUTANTS,
           *((name, name, changes) for name, _, _, changes in PARTS + TURNS)]

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "build" / "mutants"
WANTED = COPY / "wanted"  # holds the names of the mutants that count; the processes have no environment of ours
SETTLE_SECONDS = 240  # beyond the run itself: to start, to settle what is open, to check
TRIES = 3             # of the clients' luck, before a mutant counts as one that survives


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def environment():
    """The same objects are found by ccache wherever the copy lies."""
    return {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", **os.environ}


def is_wanted(name):
    """The expression that MUTANT stands for."""
    return (f'([] {{ static const bool is = [] {{ std::ifstream file("{WANTED}"); std::string name; '
            f'while (file >> name) if (name == "{name}") return true; return false; }}(); return is; }}())')


def mutated():
    """The changed files with their contents."""
    texts = {}
    for name, _, changes in MUTANTS:
        for file, old, new in changes:
            text = texts.setdefault(file, (ROOT / file).read_text())
            if text.count(old) != 1:
                sys.exit(f"{file} holds {text.count(old)} times what {name} changes:\n{old}")
            texts[file] = text.replace(old, new.replace("MUTANT", is_wanted(name)))
    return {file: "#include <fstream>\n#include <string>\n" + text for file, text in texts.items()}


def make_copy():
    """The files of the checkout as they are now, those not yet added too; unchanged ones keep their times."""
    names = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT).stdout.split("\n")
    names = sorted(name for name in names if name and (ROOT / name).is_file())
    changed = mutated()
    for folder, folders, files in os.walk(COPY):
        if pathlib.Path(folder) == COPY:
            folders[:] = [name for name in folders if name != "build"]
        for gone in {pathlib.Path(folder, file) for file in files} - {COPY / name for name in names}:
            gone.unlink()
    for name in names:
        source, target = ROOT / name, COPY / name
        content = changed[name].encode() if name in changed else source.read_bytes()
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(source.stat().st_mode)


def build(tried):
    """The programs of the tests of these mutants."""
    programs = {pathlib.Path(TESTS[which][0]).name for _, which, _ in tried}
    try:
        run(["cmake", "--preset", "dev"], cwd=COPY, env=environment())
        command = ["cmake", "--build", "--preset", "dev", "--target", "berth-placement", *sorted(programs)]
        run(command, cwd=COPY, env=environment())
    except subprocess.CalledProcessError as error:
        sys.exit(f"the mutants do not compile:\n{error.stdout[-4000:]}")


def test(name, which, seconds, seed):
    """Runs the test; returns its output, its code and how long it took; no time where it did not end."""
    WANTED.write_text(name)
    env = {**os.environ, "BERTH_HISTORY_SECONDS": str(seconds)}
    if seed is not None:
        env["BERTH_SEED"] = str(seed)
    began = time.monotonic()
    program, tests = TESTS[which]
    process = subprocess.Popen(
        [COPY / "build/dev/tests" / program, f"--gtest_filter={tests}", "--gtest_fail_fast"], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds + SETTLE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return output, None, None
    return output, process.returncode, time.monotonic() - began


def judge(name, which, seconds, seed):
    """One line of the table, and whether it is as it should be."""
    output, code, took = test(name, which, seconds, seed)
    by_rule = "history" in TESTS[which][0]
    found = re.findall(r"^rule \d+: .*(?:\n  .*)*", output, re.M)  # the checker's, with the lines that belong to each
    (COPY / f"{name}.log").write_text(output)
    if took is None:
        return f"{name:26} did not end: {COPY / (name + '.log')}", False
    if name == "none":
        verdict = "clean" if code == 0 else "RED though nothing is broken"
        return f"{name:26} {verdict:20} {took:4.0f} s  {TESTS[which][1]}", code == 0
    if code != 0 and not by_rule:
        return f"{name:26} {'caught by ' + TESTS[which][1]:20} {took:4.0f} s", True
    if code == 0 or not found:
        return f"{name:26} {'SURVIVED' if code == 0 else 'red by no rule':20} {took:4.0f} s", False
    rules = sorted({int(re.match(r"rule (\d+)", one).group(1)) for one in found})
    print("\n".join("    " + line for line in found[0].split("\n")))
    return f"{name:26} {'caught by rule ' + ', '.join(map(str, rules)):20} {took:4.0f} s", True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=20, help="how long the clients of each run (default 20)")
    parser.add_argument("--seed", type=int, help="of the clients; else each run has its own")
    parser.add_argument("--look", action="store_true", help="only see whether each place that they change is there")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    known = [name for name, _, _ in MUTANTS]
    if unknown := set(arguments.names) - set(known):
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if arguments.look:
        mutated()
        return 0
    tried = [mutant for mutant in MUTANTS if not arguments.names or mutant[0] in arguments.names]
    make_copy()
    build(tried)
    table, good = [], True
    for name, which, _ in tried:
        for attempt in range(1, TRIES + 1):
            line, is_good = judge(name, which, arguments.seconds, arguments.seed)
            if is_good or name == "none":
                break
        line += f", run {attempt}" if attempt > 1 else ""
        print(line, flush=True)
        table.append(line)
        good = good and is_good
    print("\n" + "\n".join(table))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
