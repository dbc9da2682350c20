#!/usr/bin/python3
"""Measures placement against what it stands on and what it replaces, all in one run, the sides taking turns: claims
against pgbench on the same tables and against OpenStack Placement, candidates against a bare gRPC echo of the same sizes,
the search against a scan of memory, claims and trackers over mutual TLS against plain text. Prints a table of medians over
the rounds and leaves summary.json.

usage: measure.py BUILD OUTPUT [--rounds N] [--seconds N] [--full | --tls]
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import connections
import gate
import kept_ids
import openstack
from table import show
from world import Echo, World, allow_many_connections, program, say

HOSTS = 10_000
MANY_HOSTS = 100_000
TREES = 1_000
LIMIT = 100
IN_FLIGHT = (1, 8, 16, 64, 256, 512)
CONNECTIONS = (1, 2, 4, 8, 16, 32)
STEADY_RATE, STEADY_IN_FLIGHT = 1_700, 8
OPENSTACK_CLAIM_CONNECTIONS, OPENSTACK_SEARCH_CONNECTIONS = 8, 4
OPENSTACK_SEARCH_SECONDS = 12  # one search takes seconds
REGISTERED, OPENSTACK_REGISTERED = 5_000, 200
WATCHERS = 1_000
SCHEDULERS = 32
# Measurements whose every operation leaves a consumer.
CLAIMING = ("claims", "hot_claims", "bulk_claims", "claims_at_half", "claims_at_1700", "watched_claims")
# The long haul: so many claims onto so many hosts, told in so many steps.
HAUL_CLAIMS, HAUL_HOSTS, HAUL_STEP = 2_000_000, 6_100, 100_000
# Beyond these the service is not fit for use.
CLAIMS_RATIO_MIN = 0.4
CANDIDATES_RATIO_MAX = 10


class Figures:
    """What was measured, by name: a list with one entry a round."""

    def __init__(self):
        self.found = {}

    def keep(self, name, figures):
        self.found.setdefault(name, []).append(figures)

    def median(self, name, key="per_second"):
        return statistics.median(f[key] for f in self.found[name])

    def ratio(self, ours, theirs, key="per_second", digits=3):
        return round(self.median(ours, key) / self.median(theirs, key), digits)

    def best(self, prefix):
        return max((name for name in self.found if name.startswith(prefix + ".")), key=self.median)

    def total(self, *prefixes):
        return sum(f["done"] for name, figures in self.found.items() if name.split(".")[0] in prefixes for f in figures)


def measure_rounds(world, peer, echo, sizes, figures, options):
    at, seconds = ["--address", world.address], ["--seconds", options.seconds, "--in-flight"]
    hosts = ["--hosts", HOSTS]
    search = ["candidates", *at, "--limit", LIMIT, *seconds]
    bare = ["echo", "--address", echo.address, "--request-bytes", sizes["request_bytes"], *seconds]
    world.load(*bare, 1)
    for number in range(options.rounds):
        say(f"round {number + 1} of {options.rounds}")
        for in_flight, connections in zip(IN_FLIGHT, CONNECTIONS):
            figures.keep(f"claims.{in_flight}", world.load("claim", *at, *hosts, *seconds, in_flight))
            figures.keep(f"pgbench.{connections}", world.pgbench("claim.sql", connections, options.seconds))
        figures.keep("pgbench_in_steps.16", world.pgbench("claim_in_steps.sql", 16, options.seconds))
        figures.keep("bulk_claims.8", world.load("claim", "--consumers", gate.BULK, *at, *hosts, *seconds, 8))
        figures.keep("pairs.64", world.load("claim-release", *at, *hosts, *seconds, 64))
        for watchers in (0, WATCHERS):
            figures.keep(f"watched_claims.{watchers}", world.loads(
                [*at, *hosts, "--seconds", options.seconds, "claims", "--watchers", watchers], program="berth-stream-bench"))
        for in_flight in (64, 512):
            figures.keep(f"hot_claims.{in_flight}", world.load("claim", "--hot", *at, *hosts, *seconds, in_flight))
        for in_flight in (1, 10):
            figures.keep(f"echo.{in_flight}", world.load(*bare, in_flight))
            figures.keep(f"candidates.{in_flight}", world.load(*search, in_flight))
        for name, form in (("candidates_wide_limit", []), ("candidates_table", ["--table"])):
            figures.keep(f"{name}.4", world.load("candidates", *at, *form, "--limit", gate.WIDE_LIMIT, *seconds, 4))
        figures.keep("devices.1", world.load("devices", *at, *seconds, 1))
        if peer is not None:
            connections = OPENSTACK_CLAIM_CONNECTIONS
            figures.keep(f"openstack_claims.{connections}", peer.claims(connections, options.seconds + 1))
            figures.keep(f"openstack_hot_claims.{connections}",
                         peer.claims(connections, options.seconds + 1, openstack.HOT_HOST))


def measure_peer_once(world, peer, figures):
    say("searches of OpenStack Placement")
    connections = OPENSTACK_SEARCH_CONNECTIONS
    figures.keep(f"openstack_candidates.{connections}", peer.candidates(gate.WIDE_LIMIT, connections, OPENSTACK_SEARCH_SECONDS))
    say("registration")
    figures.keep("openstack_register.8", peer.register(OPENSTACK_REGISTERED))


def measure(options, figures):
    """What needs 10,000 hosts. Returns the sizes of a search, the machine, and how many claims were checked."""
    with World(options.build) as world:
        machine = {"cores": os.cpu_count(), "kernel": platform.release(), "load_before": round(os.getloadavg()[0], 2),
                   "fdatasync_us": round(fdatasync_us(world.directory)),
                   "postgresql": world.sql("postgres", "SHOW server_version"),
                   "fsync": world.sql("postgres", "SHOW fsync")}
        say(f"loading {HOSTS} hosts")
        world.load("load-hosts", "--hot", "--address", world.address, "--hosts", HOSTS)
        world.copy_tables()
        world.load("load-devices", "--address", world.address)
        sizes = world.load("candidates", "--address", world.address, "--limit", LIMIT)  # warms up, too
        with Echo(options.build, sizes["answer_bytes"]) as echo:
            if openstack.is_there():
                say("starting OpenStack Placement")
                with openstack.OpenStack(world, HOSTS) as peer:
                    measure_rounds(world, peer, echo, sizes, figures, options)
                    measure_peer_once(world, peer, figures)
                    peer.check(figures.total("openstack_claims", "openstack_hot_claims"))
            else:
                say("OpenStack Placement is not installed (deploy/install-packages bench): left out")
                measure_rounds(world, None, echo, sizes, figures, options)
        measure_at_half(world, figures, options)
        register = ["register", "--address", world.address, "--count", REGISTERED, "--in-flight"]
        figures.keep("register_in_four_calls.64", world.load(*register, 64))
        figures.keep("register.64", world.load(*register, 64, "--in-one-call"))
        claimed = figures.total(*CLAIMING)
        world.check(claimed)
    return sizes, machine, claimed


def measure_at_half(world, figures, options):
    """How long claims take when half as many come as could, with few callers and with many."""
    claim = ["claim", "--address", world.address, "--hosts", HOSTS, "--in-flight"]
    # As it is a quarter of an hour after a start: what was loaded is written, and there are segments to use again.
    world.sql("berth", "CHECKPOINT")
    os.sync()
    figures.keep("claims.8", world.load(*claim, 8, "--seconds", 2 * options.seconds))
    for _ in range(options.rounds):
        figures.keep(f"claims_at_1700.{STEADY_IN_FLIGHT}", world.load(
            *claim, STEADY_IN_FLIGHT, "--seconds", 4 * options.seconds, "--rate", STEADY_RATE))
    for in_flight, best in ((8, "claims.8"), (256, figures.best("claims"))):
        for _ in range(options.rounds):  # long enough for what the kernel does every few seconds
            figures.keep(f"claims_at_half.{in_flight}", world.load(*claim, in_flight, "--seconds", 8 * options.seconds, "--rate",
                                                                   figures.median(best) / 2))


def measure_choice(options, figures):
    """Claims that find their own place: they fill the first hosts, where others could then not claim."""
    with World(options.build) as world:
        say("claims that find their own place")
        world.load("load-hosts", "--address", world.address, "--hosts", HOSTS)
        for kind, how in (("claim_search", []), ("claim_search_spread", ["--spread"])):
            figures.keep(f"{kind}.{IN_FLIGHT[-1]}", world.load("claim-search", *how, "--address", world.address, "--seconds",
                                                               options.seconds, "--in-flight", IN_FLIGHT[-1]))
        world.load("self-check", "--address", world.address)


def measure_trees(options, figures):
    """Trees of seven providers: searches of three groups, claims on three providers."""
    with World(options.build) as world:
        say(f"loading {TREES} trees of seven providers")
        at, seconds = ["--address", world.address, "--hosts", TREES], ["--seconds", options.seconds, "--in-flight"]
        world.load("load-trees", *at)
        for limit, name in ((0, "all"), (5, "5")):
            search = ["candidates", "--nested", *at, "--limit", limit, *seconds]
            world.load(*search, 1)
            for in_flight in (1, 10):
                figures.keep(f"tree_candidates_{name}.{in_flight}", world.load(*search, in_flight))
                if limit == 0:
                    figures.keep(f"tree_candidates_table.{in_flight}", world.load(*search, in_flight, "--table"))
        figures.keep("tree_claims.64", world.load("claim", "--nested", *at, *seconds, 64))
        world.load("self-check", "--address", world.address)


def measure_processes(options, figures):
    """Schedulers on hosts that are more than half full, through one placement process and through two on one database."""
    with World(options.build) as world:
        say(f"loading {HOSTS} hosts, more than half full")
        world.load("load-busy-hosts", "--address", world.address, "--hosts", HOSTS)

        # No longer: the hosts would be full.
        seconds = min(options.seconds, 3)

        def through(processes, workload, in_flight):
            return world.loads(*([workload, "--address", process.address, "--hosts", HOSTS, "--seconds", seconds,
                                  "--in-flight", in_flight // len(processes)] for process in processes))

        figures.keep("schedule.1", through([world], "schedule", SCHEDULERS))
        with world.replica() as replica:
            say("two placement processes")
            figures.keep("schedule.2", through([world, replica], "schedule", SCHEDULERS))
            for _ in range(options.rounds):
                figures.keep("pairs_through.1", through([world], "claim-release", 64))
                figures.keep("pairs_through.2", through([world, replica], "claim-release", 64))
            told = world.loads(["--address", world.address, "--hosts", HOSTS, "--seconds", 2 * options.seconds, "elsewhere",
                                "--elsewhere", replica.address, "--pause-ms", 20], program="berth-stream-bench")
            for process in (world, replica):
                world.load("self-check", "--address", process.address)
        return {"staleness_p50_ms": round(told["median_ms"], 2), "staleness_p99_ms": round(told["p99_ms"], 2)}


def measure_search(build):
    output = subprocess.run([program(build, "tests", "berth-search-bench"), str(MANY_HOSTS)], check=True,
                            capture_output=True, text=True).stdout
    return json.loads(output)


def start_again(world, *search):
    """Seconds from the start of a process on a filled database until its first answer to `search`."""
    world.stop()
    begun = time.monotonic()
    world.start()
    world.load("candidates", "--address", world.address, *search, "--count", 1)
    return round(time.monotonic() - begun, 2)


def measure_start(options, figures):
    """100,000 hosts: how long a start takes, how much memory they need, how fast a search through gRPC is."""
    with World(options.build) as world:
        say(f"loading {MANY_HOSTS} hosts")
        world.load("load-hosts", "--address", world.address, "--hosts", MANY_HOSTS)
        say("starting with them")
        started = start_again(world, "--limit", LIMIT)
        search = ["candidates", "--address", world.address, "--hosts", MANY_HOSTS, "--seconds", options.seconds, "--limit"]
        for limit in (LIMIT, 5):
            figures.keep(f"candidates_100k_limit_{limit}.1", world.load(*search, limit))
        figures.keep("no_room_100k.1", world.load(*search, LIMIT, "--none"))
        sizes = figures.found["no_room_100k.1"][-1]
        with Echo(options.build, sizes["answer_bytes"]) as echo:
            figures.keep("small_echo.1", world.load("echo", "--address", echo.address, "--request-bytes",
                                                    sizes["request_bytes"], "--seconds", options.seconds))
        for name, form in (("candidates_100k_limit_100", []), ("candidates_100k_table", ["--table"])):
            figures.keep(f"{name}.10", world.load(*search, LIMIT, *form, "--in-flight", 10))
            figures.keep(f"{name}_at_half.10", world.load(*search, LIMIT, *form, "--in-flight", 10, "--rate",
                                                          figures.median(f"{name}.10") / 2))
        return {"load_100k_s": started, "resident_100k_gib": round(world.resident_bytes() / 2**30, 3)}


def measure_resident(options, name, hosts, load, *search):
    """What the service needs in memory for so many hosts or trees, and how long it takes to start with them."""
    with World(options.build) as world:
        say(f"loading {hosts} hosts or trees for their memory")
        world.load(load, "--address", world.address, "--hosts", hosts)
        loaded = world.resident_bytes()
        started = start_again(world, "--hosts", hosts, *search)
        # Just loaded, it still keeps every change for those who watch.
        return {f"resident_{name}_mib": round(world.resident_bytes() / 2**20, 1),
                f"resident_{name}_just_loaded_mib": round(loaded / 2**20, 1), f"load_{name}_s": started}


def measure_haul(options):
    """Rates of every step of the long haul."""
    with World(options.build) as world:
        say(f"{HAUL_CLAIMS} claims onto {HAUL_HOSTS} hosts")
        world.load("load-hosts", "--address", world.address, "--hosts", HAUL_HOSTS)
        rates = []
        for _ in range(HAUL_CLAIMS // HAUL_STEP):
            rates.append(round(world.load("claim", "--address", world.address, "--hosts", HAUL_HOSTS, "--count", HAUL_STEP,
                                          "--in-flight", IN_FLIGHT[-1])["per_second"]))
            say(f"  {len(rates) * HAUL_STEP}: {rates[-1]} claims/s")
        world.load("self-check", "--address", world.address)
        return {"haul_claims_per_second": rates, "haul_last_vs_first": round(rates[-1] / rates[0], 3),
                "haul_resident_gib": round(world.resident_bytes() / 2**30, 3)}


def fdatasync_us(directory):
    with tempfile.TemporaryFile(dir=directory) as file:
        times = []
        for _ in range(200):
            begun = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return 1e6 * statistics.median(times)


def ratios(figures):
    """Ours over theirs, each at its best."""
    def conflict_rate(name):
        return round(figures.median(name, "conflicts") / figures.median(name, "tries"), 4)

    ratio, claims, limit = figures.ratio, figures.best("claims"), figures.best("pgbench")
    found = {
        "claims_vs_pgbench": ratio(claims, limit),
        "claim_alone_ms": round(figures.median("claims.1", "median_us") / 1000, 3),
        "claim_alone_vs_pgbench_1": ratio("claims.1", "pgbench.1", "median_us"),
        "claims_8_vs_pgbench_8": ratio("claims.8", "pgbench.8"),
        "claim_cpu_us": round(statistics.median(sum(f["cpu_us"].values()) for f in figures.found[claims]), 1),
        "bulk_claims": round(figures.median("bulk_claims.8")),
        "claims_at_1700_p99_ms": round(figures.median(f"claims_at_1700.{STEADY_IN_FLIGHT}", "p99_us") / 1000, 2),
        "spread_claims_10k": round(figures.median(figures.best("claim_search_spread"))),
        "hot_claims_vs_random": ratio(figures.best("hot_claims"), claims),
        "candidates_10k_median_vs_echo": ratio("candidates.1", "echo.1", "median_us"),
        "wide_6_of_8_ms": round(figures.median("devices.1", "median_us") / 1000, 3),
        "claims_at_half_p99_ms": round(figures.median("claims_at_half.8", "p99_us") / 1000, 2),
        "claims_at_half_of_best_p99_ms": round(figures.median("claims_at_half.256", "p99_us") / 1000, 2),
        "bulk_claims_vs_claims": ratio("bulk_claims.8", claims),
        "claims_with_ids_vs_without": ratio(figures.best("claims_with_ids"), figures.best("claims_without_ids")),
        "claims_with_ids_vs_few": ratio(figures.best("claims_with_ids"), figures.best("claims_with_few_ids")),
        "watchers_cost": round(1 - figures.median(f"watched_claims.{WATCHERS}") / figures.median("watched_claims.0"), 3),
        "two_processes_vs_one": ratio("pairs_through.2", "pairs_through.1"),
        "conflict_rate": conflict_rate("schedule.1"),
        "conflict_rate_two_processes": conflict_rate("schedule.2"),
        "no_room_100k_us": round(figures.median("no_room_100k.1", "median_us")),
        "no_room_100k_beyond_echo_us": round(
            figures.median("no_room_100k.1", "median_us") - figures.median("small_echo.1", "median_us")),
        "candidates_100k_at_half_p99_ms": round(figures.median("candidates_100k_table_at_half.10", "p99_us") / 1000, 2),
        "claims_best": claims,
        "pgbench_best": limit,
    }
    if any(name.startswith("openstack_claims.") for name in figures.found):
        found |= {
            "claims_vs_openstack": ratio(claims, figures.best("openstack_claims"), digits=1),
            "hot_claims_vs_openstack": ratio(figures.best("hot_claims"), figures.best("openstack_hot_claims"), digits=1),
            "candidates_10k_vs_openstack": ratio(
                "candidates_table.4", f"openstack_candidates.{OPENSTACK_SEARCH_CONNECTIONS}", digits=1),
            "candidates_messages_10k_vs_openstack": ratio(
                "candidates_wide_limit.4", f"openstack_candidates.{OPENSTACK_SEARCH_CONNECTIONS}", digits=1),
            "bulk_claims_vs_openstack": ratio("bulk_claims.8", figures.best("openstack_claims"), digits=1),
            "register_vs_openstack": ratio("register.64", "openstack_register.8", digits=1),
        }
    return found


def write_summary(path, summary):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary, indent=1) + "\n")


def measure_tls(options, figures):
    load_before = round(os.getloadavg()[0], 2)
    summary = connections.measure(options, figures) | connections.ratios(figures)
    write_summary(options.output / "tls.json", summary | {"load_before": load_before, "figures": figures.found})
    print(f"{os.cpu_count()} cores, shared with the load; load before {load_before}; {options.rounds} rounds of "
          f"{options.seconds} s")
    show(figures.found, summary, connections.verdicts(summary))


def main():
    allow_many_connections()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2, help="of each measurement")
    parser.add_argument("--full", action="store_true",
                        help=f"{MANY_HOSTS} trees, OpenStack's gate and {HAUL_CLAIMS} claims as well: some minutes more")
    parser.add_argument("--tls", action="store_true", help="only what mutual TLS costs: two minutes; leaves tls.json")
    options = parser.parse_args()
    begun = time.monotonic()
    figures = Figures()
    if options.tls:
        return measure_tls(options, figures)
    sizes, machine, claimed = measure(options, figures)
    gate.measure(options, figures)
    kept_ids.measure(options, figures)
    measure_choice(options, figures)
    measure_trees(options, figures)
    summary = measure_processes(options, figures) | measure_start(options, figures)
    summary |= measure_resident(options, "10k", HOSTS, "load-hosts", "--limit", LIMIT)
    summary |= connections.measure(options, figures) | connections.ratios(figures)
    say(f"searching {MANY_HOSTS} hosts in memory")
    search = measure_search(options.build)
    summary |= ratios(figures) | gate.ratios(figures) | {"search_100k_us": search["flat_100_us"], "search_100k_alone": search}
    if options.full:
        summary |= measure_resident(options, "100k_trees", MANY_HOSTS, "load-trees", "--nested", "--limit", 5)
        gate.replay(options, figures)
        summary |= gate.replay_ratios(figures) | measure_haul(options)
    summary |= {"claims_checked": claimed, "sizes": sizes, "machine": machine, "figures": figures.found}
    write_summary(options.output / "summary.json", summary)
    print(f"{HOSTS} hosts of 3 classes; {machine['cores']} cores, shared with the load; load before {machine['load_before']}; "
          f"PostgreSQL {machine['postgresql']}, fsync {machine['fsync']}, fdatasync {machine['fdatasync_us']} us; "
          f"{options.rounds} rounds of {options.seconds} s; {claimed} claims checked; {time.monotonic() - begun:.0f} s")
    show(figures.found, summary, connections.verdicts(summary))
    if summary["claims_vs_pgbench"] < CLAIMS_RATIO_MIN or summary["candidates_10k_median_vs_echo"] > CANDIDATES_RATIO_MAX:
        sys.exit("too slow: see tests/bench/measure.py for what is expected")


if __name__ == "__main__":
    main()
