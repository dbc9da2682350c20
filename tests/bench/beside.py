#!/usr/bin/python3
"""Measures the placement of BUILD and the placement of OTHER by turns. Each round makes every measurement on both builds,
one directly after the other; the build that is measured second in one round is measured first in the next round. Each
build has a new PostgreSQL cluster. The load generator of BUILD loads both, so that only placement differs. Prints a table
of the figures of both builds with a verdict for each row, writes it to OUTPUT/beside.json, and ends with status 1 if a row
has fallen.

Not measured: pgbench, the echo and OpenStack Placement, which are no part of Berth; the long haul and 100,000 trees, which
take minutes; the share of claims that conflict.

usage: beside.py BUILD OUTPUT --beside OTHER [--rounds N] [--seconds N] [--only PATTERN] [--own-load]
"""

import argparse
import contextlib
import fnmatch
import json
import os
import pathlib
import sys
import time
from typing import Any, Callable, NamedTuple

import gate
import kept_ids
from connections import tracker_resident_kib
from measure import HOSTS, LIMIT, MANY_HOSTS, SCHEDULERS, TREES, WATCHERS, measure_search, start_again
from verdict import HIGHER, LOWER, ROUNDS_MIN, Row, fallen, judged
from world import World, allow_many_connections, program, say

OTHER, THIS = "other", "this"
ROUNDS = 6  # unless --rounds says otherwise
REGISTERED = 1_000  # hosts of one measurement
# The claims of all rounds together; the busy hosts and the 1,000 hosts have capacity for at least a third more.
SCHEDULED, BULK_CLAIMED = 18_000, 600_000

RATE = {"per_second": HIGHER}
MEDIAN = {"median_us": LOWER}
TAIL = {"p99_us": LOWER}
START = {"seconds": LOWER, "resident_mib": LOWER}


class Run:
    """The length of measurements, the number of the present round, and the placement process of each build."""

    def __init__(self, options, worlds):
        self.seconds = options.seconds
        self.rounds = options.rounds
        self.round = 0
        self.worlds = worlds
        self.rates = {}
        self.refused = set()  # names of measurements that the other build cannot make

    def half_rate(self, *arguments):
        """Half the rate that the other build reaches. It is measured once, so that both builds get the same load."""
        if arguments not in self.rates:
            self.rates[arguments] = self.worlds[OTHER].load(*arguments, "--seconds", self.seconds)["per_second"] / 2
        return self.rates[arguments]


class Measurement(NamedTuple):
    name: str  # as in summary.json where `make bench` measures the same
    keys: dict  # key of a figure: HIGHER or LOWER
    make: Callable[[World, Run], dict]


class Scene(NamedTuple):
    """Measurements on the same hosts. `prepare` fills the new world of one build; what it enters into the stack is left when
    the scene ends."""

    name: str
    prepare: Callable[[World, contextlib.ExitStack], Any]
    measurements: tuple


def at(world):
    return "--address", world.address


def load(workload, *arguments):
    """A measurement: this load for Run.seconds."""
    return lambda world, run: world.load(workload, *at(world), "--seconds", run.seconds, *arguments)


def counted(workload, count, *arguments):
    """A measurement: this load with at most `count` operations in all rounds together."""
    return lambda world, run: world.load(workload, *at(world), "--count", count // max(run.rounds, ROUNDS), *arguments)


def at_half_rate(longer, workload, *arguments):
    """A measurement: this load for `longer` times Run.seconds at half the rate that the other build reaches."""
    def make(world, run):
        rate = run.half_rate(workload, *at(run.worlds[OTHER]), *arguments)
        return world.load(workload, *at(world), "--seconds", longer * run.seconds, *arguments, "--rate", rate)
    return make


def register(*how):
    def make(world, run):
        return world.load("register", *at(world), "--count", REGISTERED, "--first", run.round * REGISTERED, "--in-flight", 64,
                          *how)
    return make


def start(*search):
    """A measurement: the seconds from a start to the first answer, and the memory that placement then needs."""
    def make(world, _):
        seconds = start_again(world, *search)
        return {"seconds": seconds, "resident_mib": round(world.resident_bytes() / 2**20, 1)}
    return make


def watched_claims(world, run):
    return world.loads([*at(world), "--seconds", run.seconds, "claims", "--watchers", WATCHERS], program="berth-stream-bench")


def told_elsewhere(world, run):
    return world.loads([*at(world), "--seconds", run.seconds, "elsewhere", "--elsewhere", world.replicas[0].address,
                        "--pause-ms", 20], program="berth-stream-bench")


def pairs_through_two(world, run):
    return world.loads(*(["claim-release", *at(each), "--seconds", run.seconds, "--in-flight", 32]
                         for each in (world, world.replicas[0])))


def connected_trackers(world, _):
    # A new process: memory that the trackers of the round before no longer need would hide what these ones need.
    world.stop()
    world.start()
    return {"resident_kib": tracker_resident_kib(world)}


def fill(*loads):
    """Prepares a world by these loads."""
    def prepare(world, _):
        for each in loads:
            world.load(each[0], *at(world), *each[1:])
    return prepare


def fill_with_ids(world, stack):
    fill(("load-hosts",))(world, stack)
    kept_ids.fill(world)


def fill_for_two(world, stack):
    fill(("load-busy-hosts",))(world, stack)
    stack.enter_context(world.replica())


MANY = ("--hosts", MANY_HOSTS)
FEW = ("--hosts", gate.HOSTS)
NESTED = ("--nested", "--hosts", TREES)
TABLE_OF_MANY = ("candidates", *MANY, "--limit", LIMIT, "--table", "--in-flight", 10)
SEARCH_KEYS = {key: LOWER for key in ("flat_100_us", "flat_5_us", "no_room_us", "rare_trait_100_us", "forbidden_trait_us")}

SCENES = (
    Scene("searches of 10,000 hosts", fill(("load-hosts",), ("load-devices",)), (
        Measurement("start_10k", START, start("--limit", LIMIT)),
        Measurement("candidates.1", MEDIAN, load("candidates", "--limit", LIMIT)),
        Measurement("candidates.10", RATE, load("candidates", "--limit", LIMIT, "--in-flight", 10)),
        Measurement("candidates_wide_limit.4", RATE, load("candidates", "--limit", gate.WIDE_LIMIT, "--in-flight", 4)),
        Measurement("candidates_table.4", RATE, load("candidates", "--limit", gate.WIDE_LIMIT, "--table", "--in-flight", 4)),
        Measurement("devices.1", MEDIAN, load("devices")),
    )),
    Scene("claims on 10,000 hosts", fill(("load-hosts", "--hot")), (
        Measurement("claims.1", MEDIAN, load("claim")),
        Measurement("claims.8", RATE, load("claim", "--in-flight", 8)),
        Measurement("claims.64", RATE, load("claim", "--in-flight", 64)),
        Measurement("claims.512", RATE, load("claim", "--in-flight", 512)),
        Measurement("hot_claims.512", RATE, load("claim", "--hot", "--in-flight", 512)),
        Measurement("bulk_claims.8", RATE, load("claim", "--consumers", gate.BULK, "--in-flight", 8)),
        Measurement("pairs.64", RATE, load("claim-release", "--in-flight", 64)),
        Measurement(f"watched_claims.{WATCHERS}", RATE, watched_claims),
        Measurement("claims_at_half.256", TAIL, at_half_rate(6, "claim", "--in-flight", 256)),
        Measurement("register.64", RATE, register("--in-one-call")),
        Measurement("register_in_four_calls.64", RATE, register()),
    )),
    Scene("claims beside a day of request ids", fill_with_ids, (
        Measurement("claims_with_ids.512", RATE, load("claim", "--request-ids", "--in-flight", 512)),
    )),
    Scene("claims that find their own place", fill(("load-hosts",)), (
        Measurement("claim_search.512", RATE, load("claim-search", "--in-flight", 512)),
        Measurement("claim_search_spread.512", RATE, load("claim-search", "--spread", "--in-flight", 512)),
    )),
    Scene("1,000 trees", fill(("load-trees", "--hosts", TREES)), (
        Measurement("tree_candidates_all.10", RATE, load("candidates", *NESTED, "--limit", 0, "--in-flight", 10)),
        Measurement("tree_candidates_table.10", RATE, load("candidates", *NESTED, "--limit", 0, "--table", "--in-flight", 10)),
        Measurement("tree_candidates_5.1", MEDIAN, load("candidates", *NESTED, "--limit", 5)),
        Measurement("tree_claims.64", RATE, load("claim", *NESTED, "--in-flight", 64)),
    )),
    Scene("two placement processes", fill_for_two, (
        Measurement("schedule.1", RATE, counted("schedule", SCHEDULED, "--in-flight", SCHEDULERS)),
        Measurement("pairs_through.2", RATE, pairs_through_two),
        Measurement("staleness", {"median_ms": LOWER}, told_elsewhere),
    )),
    Scene("1,000 hosts", fill(("load-hosts", "--marked", *FEW)), (
        Measurement("bulk_claims_1k.8", RATE, counted("claim", BULK_CLAIMED // gate.BULK, *FEW, "--consumers", gate.BULK,
                                                      "--in-flight", 8)),
        Measurement("candidates_1k.10", RATE, load("candidates", "--marked", *FEW, "--limit", gate.WIDE_LIMIT, "--in-flight", 10)),
        Measurement("candidates_1k_table.10", RATE, load("candidates", "--marked", *FEW, "--limit", gate.WIDE_LIMIT, "--table",
                                                         "--in-flight", 10)),
    )),
    Scene("100,000 hosts", fill(("load-hosts", *MANY)), (
        Measurement("start_100k", START, start("--limit", LIMIT)),
        Measurement("candidates_100k_limit_100.1", MEDIAN, load("candidates", *MANY, "--limit", LIMIT)),
        Measurement("candidates_100k_limit_5.1", MEDIAN, load("candidates", *MANY, "--limit", 5)),
        Measurement("no_room_100k.1", MEDIAN, load("candidates", *MANY, "--limit", LIMIT, "--none")),
        Measurement("candidates_100k_table.10", RATE, load(*TABLE_OF_MANY)),
        Measurement("candidates_100k_table_at_half.10", TAIL, at_half_rate(1, *TABLE_OF_MANY)),
    )),
    Scene("connected trackers", fill(), (
        Measurement("trackers", {"resident_kib": LOWER}, connected_trackers),
    )),
    Scene("the search alone", fill(), (
        Measurement("search_100k_alone", SEARCH_KEYS, lambda world, _: measure_search(world.build)),
    )),
)


def all_rows(only="*"):
    return [Row(each.name, key, better) for scene in SCENES for each in scene.measurements
            if fnmatch.fnmatch(each.name, only) for key, better in each.keys.items()]


def measure_scene(scene, options, found):
    """Adds the figures of each round to `found`, which is keyed by build and then by measurement."""
    wanted = [each for each in scene.measurements if fnmatch.fnmatch(each.name, options.only)]
    if not wanted:
        return
    say(f"{scene.name}: preparing")
    with contextlib.ExitStack() as stack:
        worlds = {}
        for side, build in ((OTHER, options.beside), (THIS, options.build)):
            load_build = build if options.own_load else options.build
            worlds[side] = stack.enter_context(World(build, load_build))
            scene.prepare(worlds[side], stack)
        run = Run(options, worlds)
        for run.round in range(options.rounds):
            say(f"{scene.name}: round {run.round + 1} of {options.rounds}")
            sides = (OTHER, THIS) if run.round % 2 == 0 else (THIS, OTHER)
            for measurement in wanted:
                for side in sides:
                    keep(measurement, worlds[side], run, side, found)
        for world in worlds.values():
            world.load("self-check", *at(world))


def keep(measurement, world, run, side, found):
    """Measures once. Drops the figures of the other build if it fails, for example because it does not know a request; a
    failure of this build ends the run."""
    if side == OTHER and measurement.name in run.refused:
        return
    try:
        figures = measurement.make(world, run)
    except SystemExit as failure:
        if side == THIS:
            raise
        say(f"{measurement.name} cannot be measured on the other build: {failure}")
        run.refused.add(measurement.name)
        found[OTHER].pop(measurement.name, None)
        return
    found[side].setdefault(measurement.name, []).append(figures)


def show(entries):
    def figures(summary):
        if summary is None:
            return f"{'':>36}"
        digits = 0 if summary["median"] >= 1000 else 1 if summary["median"] >= 10 else 3
        return "{:>12,.{d}f} {:>10,.{d}f} .. {:>9,.{d}f}".format(*summary.values(), d=digits)
    print(f"{'':<40} {'other: median, least .. most':>36} {'this: median, least .. most':>36}  this : other")
    for entry in entries:
        ratio = f"{entry['ratio']:>6.3f}" if entry["ratio"] is not None else f"{'':>6}"
        arrow = "more is better" if entry["better"] == HIGHER else "less is better"
        print(f"{entry['row']:<40} {figures(entry['other'])} {figures(entry['this'])}  {ratio} {entry['verdict']:<7} ({arrow})")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path, required=True, metavar="OTHER",
                        help="a release build directory of another revision, with berth-placement and berth-search-bench")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"no verdict with fewer than {ROUNDS_MIN}")
    parser.add_argument("--seconds", type=int, default=1, help="of most measurements")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only measurements of such a name, for example 'claims*'")
    parser.add_argument("--own-load", action="store_true",
                        help="load each side by its own build's generator: for protos that are not compatible")
    return parser.parse_args()


def main():
    allow_many_connections()
    options = parsed()
    for build in (options.beside, options.build):
        program(build, "services", "berth-placement")
        program(build, "tests", "berth-search-bench")
    begun, load_before = time.monotonic(), round(os.getloadavg()[0], 2)
    found = {OTHER: {}, THIS: {}}
    for scene in SCENES:
        measure_scene(scene, options, found)
    entries = judged(all_rows(options.only), found[OTHER], found[THIS])
    print(f"other: {options.beside}; this: {options.build}; {os.cpu_count()} cores, load before {load_before}; "
          f"{options.rounds} rounds of {options.seconds} s; {time.monotonic() - begun:.0f} s")
    show(entries)
    options.output.mkdir(parents=True, exist_ok=True)
    told = {"other": str(options.beside.resolve()), "this": str(options.build.resolve()), "rounds": options.rounds,
            "seconds": options.seconds, "load_before": load_before, "rows": entries, "figures": found}
    (options.output / "beside.json").write_text(json.dumps(told, indent=1) + "\n")
    if fallen(entries):
        sys.exit("fallen: " + ", ".join(fallen(entries)))


if __name__ == "__main__":
    main()
