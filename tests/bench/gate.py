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


def beside(world):
    """The real one with the same hosts, where it is installed."""
    if not openstack.is_there():
        return contextlib.nullcontext()
    return openstack.OpenStack(world, HOSTS, openstack.LOAD + openstack.MARK)


def measure(options, figures):
    with World(options.build) as world:
        say(f"loading {HOSTS} hosts")
        world.load("load-hosts", "--marked", "--address", world.address, "--hosts", HOSTS)
        with beside(world) as peer:
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
