"""Measures what connections cost: claims over mutual TLS beside the same claims in plain text, and the memory of placement
for each tracker, over both."""

import json
import subprocess
import sys

from world import World, say

HOSTS = 10_000
IN_FLIGHT = (64, 512)
TRACKERS_FIRST, TRACKERS = 500, 2_000
# What is promised; see verdicts().
CLAIMS_RATIO_MIN = 0.85
TRACKER_KIB_MAX = 100


def claim(world, options, in_flight, *how):
    return world.load("claim", "--address", world.address, "--hosts", HOSTS, "--seconds", options.seconds, "--in-flight",
                      in_flight, *how)


def measure_claims(options, figures):
    """Each round claims in plain text and over TLS in turn, beginning with the other one than the round before."""
    with World(options.build) as plain, World(options.build, over_tls=True) as tls:
        say(f"loading {HOSTS} hosts, in plain text and over TLS")
        for world in (plain, tls):
            world.load("load-hosts", "--address", world.address, "--hosts", HOSTS)
        sides = [("plain", plain), ("tls", tls)]
        for _ in range(options.rounds):
            for in_flight in IN_FLIGHT:
                for kind, connections in (("claims", 4), ("clients", in_flight)):
                    for side, world in sides:
                        figures.keep(f"{side}_{kind}.{in_flight}",
                                     claim(world, options, in_flight, "--connections", connections))
            sides.reverse()
        for side, world in sides:
            world.check(figures.total(f"{side}_claims", f"{side}_clients"))


def tracker_resident_kib(world):
    """What another connected tracker costs in memory, once there are some."""
    connected, resident = [], []
    identity = [] if world.certificates is None else ["--ca-key", world.certificates.ca_key]
    for first, count in ((0, TRACKERS_FIRST), (TRACKERS_FIRST, TRACKERS)):
        connected.append(subprocess.Popen(
            [world.load_build / "tests/bench/berth-stream-bench", "--address", world.address, "trackers", "--first", str(first),
             "--count", str(count), *identity], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=world.environment))
        told = json.loads(connected[-1].stdout.readline())
        if told["done"] != count:
            sys.exit(f"not all trackers were welcomed: {told}")
        resident.append(world.resident_bytes())
    for process in connected:
        process.communicate()
        if process.returncode != 0:
            sys.exit("not all trackers stayed connected")
    return round((resident[1] - resident[0]) / 1024 / TRACKERS, 1)


def measure(options, figures):
    """Returns the memory of a tracker. Claims are kept in `figures`."""
    measure_claims(options, figures)
    resident = {}
    for name, over_tls in (("tracker_resident_kib", False), ("tls_tracker_resident_kib", True)):
        with World(options.build, over_tls=over_tls) as world:
            say(f"connecting {TRACKERS} trackers{' over TLS' if over_tls else ''}")
            resident[name] = tracker_resident_kib(world)
    return resident


def ratios(figures):
    return {f"tls_{kind}_{in_flight}_vs_plain": figures.ratio(f"tls_{kind}.{in_flight}", f"plain_{kind}.{in_flight}")
            for kind in ("claims", "clients") for in_flight in IN_FLIGHT}


def verdicts(summary):
    """For each figure that has a promise: the promise, and whether it is kept."""
    promised = {name: f"at least {CLAIMS_RATIO_MIN}" for name in summary if name.startswith("tls_cl")}
    kept = {name: summary[name] >= CLAIMS_RATIO_MIN for name in promised}
    promised["tls_tracker_resident_kib"] = f"at most {TRACKER_KIB_MAX}"
    kept["tls_tracker_resident_kib"] = summary["tls_tracker_resident_kib"] <= TRACKER_KIB_MAX
    return {name: f"{promised[name]}: {'kept' if kept[name] else 'NOT KEPT'}" for name in promised}
