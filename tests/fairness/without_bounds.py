#!/usr/bin/python3
"""Measures loads with placement as it is, and with a bound taken away that keeps such a load from harming others.

`many_claims` does not keep the promise with its bounds, either: compare it with `none`. `claims` and `tracker` keep it also
without the bounds named here: placement is faster than they are. The tests of the mutants show that these bounds work.
The bounds are mutants of tests/history/mutations_of_turns.py. All figures are those of one build, that of the mutants.

usage: without_bounds.py [--seconds N] [--hosts N] [--only LOAD/MUTANT,...] [--program PATH]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "history"))
import mutants  # noqa: E402

# All turns by identity.
TURNS = "turns-ignore-owners calls-in-one-turn commands-in-one-turn work-in-one-line answers-in-one-turn"
# Each load of berth-fairness with the mutants, one or several at a time, that may let it through.
PAIRS = [
    ("claims", f"large-batches-beside-others {TURNS}"), ("many_claims", TURNS),
    ("explains", "claims-beside-reads"), ("explains", "no-urgent-workers"), ("explains", "work-in-one-line"),
    ("future", "room-without-share"), ("future", "yard-cleared-at-once"),
    ("exports", "exports-without-share"),
    ("tracker", "sessions-beside-claims"),
    ("tracker", f"sessions-beside-claims invented-host-is-owner {TURNS}"), ("silent", "slots-without-share"),
]


def build():
    mutants.make_copy()
    for command in (["cmake", "--preset", "dev"], ["cmake", "--build", "--preset", "dev", "--target", "berth-placement"]):
        mutants.run(command, cwd=mutants.COPY, env=mutants.environment())
    return next((mutants.COPY / "build/dev").rglob("berth-placement"))


def measure(program, placement, load, mutant, arguments):
    """What came of `load` while `mutant` counts, or of placement as it is: `none`."""
    mutants.WANTED.write_text(mutant)
    out = mutants.COPY / "fairness" / f"{load}-{mutant.split()[0]}"
    command = [program, f"--placement={placement}", f"--loads={load}", "--rounds=1", f"--seconds={arguments.seconds}",
               f"--hosts={arguments.hosts}", f"--out={out}"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)  # it ends with 1 if a promise is not kept
    summary = json.loads((out / "summary.json").read_text())
    return summary["measured"][-1], summary["verdicts"][-1]


def line(load, mutant, told, verdict):
    bad = {kind: told[kind]["refused"] + told[kind]["failed"] for kind in ("claims", "health", "reads", "exports", "log_ins")}
    words = ", ".join(f"{count} of {told[kind]['calls']} {kind}" for kind, count in bad.items() if count)
    names = mutant.split()
    shown = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    return (f"{load:11} {shown:38} {told['claims']['p99_ms']:9.1f} {told['health']['max_ms']:9.1f} "
            f"{told['log_ins']['max_ms']:9.1f}  {'kept' if verdict['kept'] else 'broken':7} {words}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--hosts", type=int, default=10000)
    parser.add_argument("--only", default="", help="LOAD/MUTANT,...; of several mutants the first")
    parser.add_argument("--program", default=str(ROOT / "build/release/tests/fairness/berth-fairness"))
    arguments = parser.parse_args()
    only = {tuple(pair.split("/")) for pair in arguments.only.split(",") if pair}
    pairs = [(load, mutant) for load, mutant in PAIRS if not only or (load, mutant.split()[0]) in only]
    placement = build()
    os.makedirs(mutants.COPY / "fairness", exist_ok=True)
    print(f"{'load':11} {'without':38} {'p99 ms':>9} {'health ms':>9} {'log-in ms':>9}  promise refused or failed")
    for load in dict.fromkeys(load for load, _ in pairs):
        for mutant in ["none", *(mutant for other, mutant in pairs if other == load)]:
            print(line(load, mutant, *measure(arguments.program, placement, load, mutant, arguments)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
