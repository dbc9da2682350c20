"""Measures what request ids cost claims: while few ids are kept, and while the ids of a day are kept."""

from world import World, say

HOSTS = 10_000
IN_FLIGHT = 512  # so that batches are full
# With the default of request-keep, placement keeps the ids of the running hour and of the 24 hours before it, at least.
HOURS_BEFORE = 24
# Enough that each table of ids has an index of several levels. The ids stay in memory: reading ids from a disk, as after a
# day at full speed, is not measured.
IDS_OF_AN_HOUR = 20_000

# Each hour is filled by the functions that placement calls, at a time within that hour. A schema without
# rotate_requests() needs no step between two hours.
FILL = """
DO $$
DECLARE at bigint;
BEGIN
  FOR hours_ago IN REVERSE {hours} .. 0 LOOP
    at := micros_of(now() - hours_ago * interval '1 hour');
    IF to_regprocedure('rotate_requests(bigint, integer)') IS NOT NULL THEN
      PERFORM rotate_requests(at, {hours});
    END IF;
    PERFORM write_requests(array_agg('anonymous'::text), array_agg(gen_random_uuid()::text),
                           array_agg(sha256(number::text::bytea)), array_agg(sha512(number::text::bytea)), at)
    FROM generate_series(1, {ids}) AS number;
  END LOOP;
END $$
"""


def kept(world):
    return int(world.sql("berth", "SELECT count(*) FROM request"))


def fill(world):
    """Writes the request ids of the last hours into the database of `world`."""
    say(f"{HOURS_BEFORE + 1} hours of {IDS_OF_AN_HOUR} request ids each")
    before = kept(world)
    world.sql("berth", FILL.format(hours=HOURS_BEFORE, ids=IDS_OF_AN_HOUR))
    more = kept(world) - before
    if more != (HOURS_BEFORE + 1) * IDS_OF_AN_HOUR:
        raise SystemExit(f"{more} request ids of the last hours are kept")
    world.sql("berth", "CHECKPOINT")


def measure(options, figures):
    with World(options.build) as world:
        say(f"loading {HOSTS} hosts")
        world.load("load-hosts", "--address", world.address, "--hosts", HOSTS)
        claim = ["claim", "--address", world.address, "--hosts", HOSTS, "--seconds", options.seconds, "--in-flight", IN_FLIGHT]
        for _ in range(options.rounds):
            figures.keep(f"claims_with_few_ids.{IN_FLIGHT}", world.load(*claim, "--request-ids"))
        fill(world)
        for _ in range(options.rounds):
            figures.keep(f"claims_without_ids.{IN_FLIGHT}", world.load(*claim))
            figures.keep(f"claims_with_ids.{IN_FLIGHT}", world.load(*claim, "--request-ids"))
        world.check(figures.total("claims_with_few_ids", "claims_without_ids", "claims_with_ids"))
