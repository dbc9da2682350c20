"""Claims with request ids beside claims without, when placement keeps as many ids as after 26 hours of work."""

from world import World, say

HOSTS = 10_000
IN_FLIGHT = 512  # so that batches are full
# With the default of request-keep, placement keeps the ids of the running hour and of the 24 hours before it. After 26
# hours it has dropped an hour for the first time, and keeps no more later.
HOURS_BEFORE = 24
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


def fill(world):
    """Writes the request ids of the last hours into the database of `world`."""
    say(f"{HOURS_BEFORE + 1} hours of {IDS_OF_AN_HOUR} request ids each")
    world.sql("berth", FILL.format(hours=HOURS_BEFORE, ids=IDS_OF_AN_HOUR))
    kept = int(world.sql("berth", "SELECT count(*) FROM request"))
    if kept != (HOURS_BEFORE + 1) * IDS_OF_AN_HOUR:
        raise SystemExit(f"{kept} request ids are kept")
    world.sql("berth", "CHECKPOINT")


def measure(options, figures):
    with World(options.build) as world:
        say(f"loading {HOSTS} hosts")
        world.load("load-hosts", "--address", world.address, "--hosts", HOSTS)
        fill(world)
        claim = ["claim", "--address", world.address, "--hosts", HOSTS, "--seconds", options.seconds, "--in-flight", IN_FLIGHT]
        for _ in range(options.rounds):
            figures.keep(f"claims_without_ids.{IN_FLIGHT}", world.load(*claim))
            figures.keep(f"claims_with_ids.{IN_FLIGHT}", world.load(*claim, "--request-ids"))
        world.check(figures.total("claims_without_ids", "claims_with_ids"))
