"""The size that OpenStack's own gate measures: 1,000 hosts, the real Placement beside ours."""

import contextlib

import openstack
from world import World, say

HOSTS = 1_000
BULK = 64  # claims of one message
MESSAGES_IN_FLIGHT = 8
WIDE_LIMIT = 1000
SEARCHES_IN_FLIGHT = 10
OPENSTACK_CLAIM_CONNECTIONS = 8
OPENSTACK_SEARCH_SECONDS = 5  # ten searches at once take a second

# Its two jobs: how hosts are loaded and searched here and there, how many candidates these have, how often a step is made.
JOBS = {
    "flat": ("load-hosts", "--marked", openstack.LOAD + openstack.MARK, openstack.GATE_QUERY, HOSTS, 99),
    "nested": ("load-trees", "--nested", openstack.TREES, openstack.TREE_QUERY, 2 * HOSTS, 10),
}
JOB_SEARCHES = 500
OPENSTACK_JOB_SECONDS = 20  # ten searches of trees at once take five seconds


def beside(world, rows):
    """The real one with the same hosts, where it is installed."""
    return openstack.OpenStack(world, HOSTS, rows) if openstack.is_there() else contextlib.nullcontext()


def measure(options, figures):
    with World(options.build) as world:
        say(f"loading {HOSTS} hosts")
        world.load("load-hosts", "--marked", "--address", world.address, "--hosts", HOSTS)
        with beside(world, openstack.LOAD + openstack.MARK) as peer:
            for _ in range(options.rounds):
                measure_ours(world, figures, options)
                if peer is not None:
                    measure_peer(peer, figures, options)
            if peer is not None:
                peer.check(figures.total("openstack_claims_1k"))
        world.check(figures.total("bulk_claims_1k"))


def measure_ours(world, figures, options):
    at = ["--address", world.address, "--hosts", HOSTS]
    # No longer: the hosts would be full.
    seconds = min(options.seconds, 3)
    figures.keep(f"bulk_claims_1k.{MESSAGES_IN_FLIGHT}", world.load(
        "claim", "--consumers", BULK, *at, "--seconds", seconds, "--in-flight", MESSAGES_IN_FLIGHT))
    for name, form in (("candidates_1k", []), ("candidates_1k_table", ["--table"])):
        figures.keep(f"{name}.{SEARCHES_IN_FLIGHT}", world.load(
            "candidates", "--marked", *form, *at, "--limit", WIDE_LIMIT, "--seconds", options.seconds,
            "--in-flight", SEARCHES_IN_FLIGHT))


def measure_peer(peer, figures, options):
    connections = OPENSTACK_CLAIM_CONNECTIONS
    figures.keep(f"openstack_claims_1k.{connections}", peer.claims(connections, options.seconds + 1))
    figures.keep(f"openstack_candidates_1k.{SEARCHES_IN_FLIGHT}",
                 peer.candidates(WIDE_LIMIT, SEARCHES_IN_FLIGHT, OPENSTACK_SEARCH_SECONDS, openstack.GATE_QUERY))


def replay(options, figures):
    """The gate's jobs, on fresh hosts: its steps one after the other, then searches ten at once."""
    for name, (load, kind, rows, query, candidates, steps) in JOBS.items():
        with World(options.build) as world:
            say(f"the gate's job, {name}")
            at = [kind, "--address", world.address, "--hosts", HOSTS]
            world.load(load, *at)
            search = [*at, "--limit", 0, "--table", "--count"]
            figures.keep(f"gate_{name}_steps.1", world.load("gate-steps", *search, steps))
            figures.keep(f"gate_{name}_searches.{SEARCHES_IN_FLIGHT}", world.load(
                "candidates", *search, JOB_SEARCHES, "--in-flight", SEARCHES_IN_FLIGHT))
            with beside(world, rows) as peer:
                if peer is not None:
                    figures.keep(f"openstack_gate_{name}_steps.1", peer.gate_steps(query, steps, candidates))
                    figures.keep(f"openstack_gate_{name}_searches.{SEARCHES_IN_FLIGHT}",
                                 peer.candidates(None, SEARCHES_IN_FLIGHT, OPENSTACK_JOB_SECONDS, query))
                    peer.check(steps)
            world.check(steps)


def replay_ratios(figures):
    names = [f"gate_{job}_{what}" for job in JOBS for what in ("steps", "searches")] if openstack.is_there() else []
    return {f"{name}_vs_openstack": figures.ratio(figures.best(name), figures.best(f"openstack_{name}"), digits=1)
            for name in names}


def ratios(figures):
    """Ours, and ours over theirs."""
    claims, table = f"bulk_claims_1k.{MESSAGES_IN_FLIGHT}", f"candidates_1k_table.{SEARCHES_IN_FLIGHT}"
    found = {"bulk_claims_1k": round(figures.median(claims)), "candidates_1k": round(figures.median(table))}
    if f"openstack_claims_1k.{OPENSTACK_CLAIM_CONNECTIONS}" in figures.found:
        searches = f"openstack_candidates_1k.{SEARCHES_IN_FLIGHT}"
        found |= {
            "bulk_claims_1k_vs_openstack": figures.ratio(claims, figures.best("openstack_claims_1k"), digits=1),
            "candidates_1k_vs_openstack": figures.ratio(table, searches, digits=1),
            "candidates_messages_1k_vs_openstack": figures.ratio(f"candidates_1k.{SEARCHES_IN_FLIGHT}", searches, digits=1),
        }
    return found
