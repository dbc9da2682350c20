-- The tables of the ledger, and views of them in normal form.
--
-- One row per provider and one per consumer, with arrays inside: the price of a claim is the number of row versions that
-- it writes. For the same reason nothing here has a foreign key, and no index covers a column that claims change.
-- Arrays of a row that stand side by side have the same length and order.

CREATE TABLE log (
  revision bigint PRIMARY KEY,
  epoch bigint NOT NULL,
  batch_id uuid NOT NULL,
  previous_batch_id uuid NOT NULL,
  ledger_time timestamptz NOT NULL,
  format int NOT NULL,
  command_count bigint NOT NULL,
  next_class_id bigint NOT NULL,
  next_trait_id bigint NOT NULL,
  epoch_began_at bigint NOT NULL,
  payload bytea NOT NULL
);
-- Packed integers and uuids: compressing them costs more than it saves.
ALTER TABLE log ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Whether each used is within its capacity. The first eight are spelled out because a loop costs ten times as much and
-- providers with more classes are rare; a place past the end is null and harms nothing.
CREATE FUNCTION each_within(used bigint[], capacity bigint[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  FOR i IN 1 .. cardinality(used) LOOP
    IF used[i] > capacity[i] THEN RETURN false; END IF;
  END LOOP;
  RETURN true;
END $$;

CREATE TABLE provider (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  parent uuid,
  generation bigint NOT NULL,
  allocation_generation bigint NOT NULL,
  class int[] NOT NULL,
  total int[] NOT NULL,
  reserved int[] NOT NULL,
  min_unit int[] NOT NULL,
  max_unit int[] NOT NULL,
  step_size int[] NOT NULL,
  ratio float8[] NOT NULL,
  capacity bigint[] NOT NULL,
  used bigint[] NOT NULL,
  -- An inventory was lawfully lowered under the allocations that were there (P-89).
  overcommitted boolean NOT NULL,
  trait int[] NOT NULL,
  aggregate uuid[] NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- Looked at when the transaction ends, so that one batch may swap names.
  CONSTRAINT provider_name UNIQUE (name) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT provider_used_fits CHECK (
    overcommitted
    OR used[1] <= capacity[1] AND used[2] <= capacity[2] AND used[3] <= capacity[3] AND used[4] <= capacity[4]
      AND used[5] <= capacity[5] AND used[6] <= capacity[6] AND used[7] <= capacity[7] AND used[8] <= capacity[8]
      AND (cardinality(used) <= 8 OR each_within(used, capacity))),
  CONSTRAINT provider_arrays_match CHECK (
    cardinality(used) = cardinality(class) AND cardinality(capacity) = cardinality(class))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1);

CREATE TABLE consumer (
  id uuid PRIMARY KEY,
  generation bigint NOT NULL,
  project text NOT NULL,
  "user" text NOT NULL,
  type text NOT NULL,
  provider uuid[] NOT NULL,
  class int[] NOT NULL,
  amount int[] NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CONSTRAINT consumer_holds_something CHECK (cardinality(provider) > 0)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.1);

CREATE TABLE resource_class (
  id int PRIMARY KEY,
  name text NOT NULL,
  CONSTRAINT resource_class_name UNIQUE (name) DEFERRABLE INITIALLY DEFERRED
);
CREATE TABLE trait (
  id int PRIMARY KEY,
  name text NOT NULL,
  CONSTRAINT trait_name UNIQUE (name) DEFERRABLE INITIALLY DEFERRED
);
CREATE TABLE service (
  host text NOT NULL,
  binary_name text NOT NULL,
  id uuid NOT NULL,
  incarnation uuid NOT NULL,
  machine_id text NOT NULL,
  version text NOT NULL,
  up boolean NOT NULL,
  disabled boolean NOT NULL,
  disabled_reason text NOT NULL,
  forced_down boolean NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (host, binary_name)
);

CREATE TABLE node (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  host text NOT NULL,
  retired boolean NOT NULL,
  incarnation uuid NOT NULL,
  report_sequence bigint NOT NULL,
  digest bytea NOT NULL,
  reported_provider uuid[] NOT NULL,
  reported_generation bigint[] NOT NULL,
  facts bytea,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Answers by request id, kept for a day, one partition per hour of ledger time. What finds no partition goes into the
-- default one. That an id stands here once is seen to under the ledger's lock. An empty body_hash: nothing was done under
-- the id, and nothing will be.
CREATE TABLE request (
  actor text NOT NULL,
  request_id text NOT NULL,
  created_at timestamptz NOT NULL,
  body_hash bytea NOT NULL,
  answer bytea NOT NULL
) PARTITION BY RANGE (created_at);
CREATE INDEX request_key ON request (actor, request_id);
CREATE TABLE request_default PARTITION OF request DEFAULT;

-- When each placement process last heard from the services whose streams it holds: one row per process, outside of the
-- log.
CREATE TABLE heartbeat (
  process text PRIMARY KEY,
  written_at timestamptz NOT NULL,
  service text[] NOT NULL,
  heard_at timestamptz[] NOT NULL
) WITH (fillfactor = 50);

-- Times travel as microseconds since 1970.
CREATE FUNCTION at_micros(micros bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT timestamptz '1970-01-01 00:00:00+00' + micros * interval '1 microsecond'
$$;
CREATE FUNCTION micros_of(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM at) * 1000000)::bigint
$$;

CREATE VIEW inventories AS
  SELECT p.id AS provider, p.name AS provider_name, c.name AS resource_class, i.total, i.reserved, i.min_unit, i.max_unit,
         i.step_size, i.ratio AS allocation_ratio, i.capacity, i.used
  FROM provider p
  CROSS JOIN LATERAL unnest(p.class, p.total, p.reserved, p.min_unit, p.max_unit, p.step_size, p.ratio, p.capacity, p.used)
    AS i(class, total, reserved, min_unit, max_unit, step_size, ratio, capacity, used)
  LEFT JOIN resource_class c ON c.id = i.class;

CREATE VIEW allocations AS
  SELECT k.id AS consumer, k.project, k."user", k.type, a.provider, p.name AS provider_name, c.name AS resource_class,
         a.amount
  FROM consumer k
  CROSS JOIN LATERAL unnest(k.provider, k.class, k.amount) AS a(provider, class, amount)
  LEFT JOIN provider p ON p.id = a.provider
  LEFT JOIN resource_class c ON c.id = a.class;

CREATE VIEW usages AS
  SELECT project, "user", type, resource_class, sum(amount) AS used, count(DISTINCT consumer) AS consumers
  FROM allocations GROUP BY project, "user", type, resource_class;

CREATE VIEW provider_traits AS
  SELECT p.id AS provider, p.name AS provider_name, t.name AS trait
  FROM provider p CROSS JOIN LATERAL unnest(p.trait) AS u(id) LEFT JOIN trait t ON t.id = u.id;

CREATE VIEW provider_aggregates AS
  SELECT p.id AS provider, p.name AS provider_name, u.aggregate
  FROM provider p CROSS JOIN LATERAL unnest(p.aggregate) AS u(aggregate);
