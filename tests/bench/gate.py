"""The size that OpenStack's own gate measures: 1,000 hosts, the real Placement beside ours."""

import contextlib

import openstack
from world import World, say

HOSTS = 1_000
BULK = 64  # claims of one message
MESSAGES_IN_FLIGHT = 8
OPENSTACK_CLAIM_CONNECTIONS = 8


def measure(options, figures):
    with World(options.build) as world:
        say(f"loading {HOSTS} hosts")
        world.load("load-hosts", "--address", world.address, "--hosts", HOSTS)
        with openstack.OpenStack(world, HOSTS) if openstack.is_there() else contextlib.nullcontext() as peer:
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


def measure_peer(peer, figures, options):
    connections = OPENSTACK_CLAIM_CONNECTIONS
    figures.keep(f"openstack_claims_1k.{connections}", peer.claims(connections, options.seconds + 1))


def ratios(figures):
    """Ours, and ours over theirs."""
    found = {"bulk_claims_1k": round(figures.median(f"bulk_claims_1k.{MESSAGES_IN_FLIGHT}"))}
    if f"openstack_claims_1k.{OPENSTACK_CLAIM_CONNECTIONS}" in figures.found:
        found["bulk_claims_1k_vs_openstack"] = figures.ratio(
            figures.best("bulk_claims_1k"), figures.best("openstack_claims_1k"), digits=1)
    return found
