-- The tables of the ledger, and views that show the same rows in normal form.
--
-- A provider is one row and a consumer is one row, each with arrays inside: a claim costs as much
-- as the row versions that it writes. For the same reason no table has a foreign key, and no index
-- covers a column that claims change. The arrays of one row that describe the same things have the
-- same length and order: in `provider`, used[2] and capacity[2] belong to the resource class
-- class[2].

-- Converts the times that placement sends and reads: microseconds since 1970, in UTC. Both
-- functions are immutable throughout, so that PostgreSQL inlines them into the statements that call
-- them.
CREATE FUNCTION at_micros(micros bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (timestamp '1970-01-01 00:00:00' + micros * interval '1 microsecond') AT TIME ZONE 'UTC'
$$;
CREATE FUNCTION micros_of(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM at AT TIME ZONE 'UTC') * 1000000)::bigint
$$;

-- One row per committed batch. `payload` holds the changes (placement/log/log.proto). The rows that
-- are kept follow each other without a gap: each names the batch before it, and only the oldest
-- rows are ever deleted.
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
-- The payload is packed integers and uuids: compressing it would cost more time than it would save
-- space.
ALTER TABLE log ALTER COLUMN payload SET STORAGE EXTERNAL;

-- The first revision of each epoch. A revision of an older epoch from that number on was lost. This
-- table still says so when the log no longer reaches back that far.
CREATE TABLE epoch (
  number bigint PRIMARY KEY,
  began_at bigint NOT NULL
);

-- Whether used[i] <= capacity[i] for every i. One expression compares up to eight elements: a loop
-- costs ten times as much, and providers with more classes are rare. The expression is here and not
-- in the CHECK below, because PostgreSQL reads the text of a CHECK anew for each statement: that took
-- a fifth of the time of a claim's statement.
CREATE FUNCTION each_within(used bigint[], capacity bigint[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF cardinality(used) <= 8 THEN
    -- An element beyond the end of an array is null. A comparison with null refuses nothing.
    RETURN coalesce(
      used[1] <= capacity[1] AND used[2] <= capacity[2] AND used[3] <= capacity[3] AND used[4] <= capacity[4]
        AND used[5] <= capacity[5] AND used[6] <= capacity[6] AND used[7] <= capacity[7] AND used[8] <= capacity[8],
      true);
  END IF;
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
  -- True: an operator lawfully lowered an inventory below what was already allocated (P-89).
  overcommitted boolean NOT NULL,
  trait int[] NOT NULL,
  aggregate uuid[] NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- Checked at the end of the transaction, so that one batch may swap the names of two providers.
  CONSTRAINT provider_name UNIQUE (name) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT provider_used_fits CHECK (overcommitted OR each_within(used, capacity)),
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
  -- When placement releases this consumer by itself. Null: never.
  lease_expires_at timestamptz,
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
  zone text NOT NULL,
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
  account bytea NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- Numbers that are also in `facts` and `account`, for sums over many nodes.
  total_vcpus bigint NOT NULL,
  total_pcpus bigint NOT NULL,
  total_memory_mib bigint NOT NULL,
  total_disk_gib bigint NOT NULL,
  used_vcpus bigint NOT NULL,
  used_pcpus bigint NOT NULL,
  used_memory_mib bigint NOT NULL,
  used_disk_gib bigint NOT NULL,
  disk_available_least_gib bigint,
  instance_count bigint NOT NULL,
  task_count bigint NOT NULL,
  storage_id text NOT NULL
);

-- The records of instances (kind 1) and of migrations (kind 2), the server groups (kind 3), and the
-- names and metadata of aggregates (kind 4).
CREATE TABLE record (
  id uuid NOT NULL,
  kind smallint NOT NULL,
  generation bigint NOT NULL,
  -- The instance that a migration moves, or the group of which an instance is a member. Null: none.
  part_of uuid,
  -- The whole record, as an encoded message of record.proto, server_group.proto or aggregate.proto.
  content bytea NOT NULL,
  PRIMARY KEY (id, kind)
) WITH (fillfactor = 90);

-- The answers that are kept by request id. There is a handful of partitions, each for one span of
-- ledger time (rotate_requests makes and drops them), so that a look-up costs the same however long
-- ids are kept. A row whose time has no partition goes into the default one. The ledger's lock sees
-- to it that an id is in at most one row. An empty body_hash means: nothing was done under this id,
-- and nothing ever will be.
CREATE TABLE request (
  actor text COLLATE "C" NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  body_hash bytea NOT NULL,
  answer bytea NOT NULL
) PARTITION BY RANGE (created_at);
CREATE INDEX request_key ON request (actor, request_id);
CREATE TABLE request_default PARTITION OF request DEFAULT;

-- When each placement process last heard from the services whose streams it holds. One row per
-- process; not part of the log.
CREATE TABLE heartbeat (
  process text PRIMARY KEY,
  written_at timestamptz NOT NULL,
  service text[] NOT NULL,
  heard_at timestamptz[] NOT NULL
) WITH (fillfactor = 50);

-- PostgreSQL gathers few statistics of the tables that claims fill. The writer looks rows up by key
-- whatever the statistics say. Full statistics, made from 30,000 rows and from the arrays too, took
-- 0.6 s of every 15 s away from the claims. Now 3,000 rows are enough, and arrays are left out.
DO $$
DECLARE
  wanted text;
  col record;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['log', 'provider', 'consumer'] LOOP
    FOR col IN
      SELECT a.attname, t.typcategory = 'A' AS is_array
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = wanted::regclass AND a.attnum > 0
    LOOP
      EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS %s', wanted, col.attname,
                     CASE WHEN col.is_array THEN 0 ELSE 10 END);
    END LOOP;
  END LOOP;
END $$;

CREATE VIEW inventories AS
  SELECT p.id AS provider, p.name AS provider_name, c.name AS resource_class, i.total, i.reserved, i.min_unit, i.max_unit,
         i.step_size, i.ratio AS allocation_ratio, i.capacity, i.used
  FROM provider p
  CROSS JOIN LATERAL unnest(p.class, p.total, p.reserved, p.min_unit, p.max_unit, p.step_size, p.ratio, p.capacity, p.used)
    AS i(class, total, reserved, min_unit, max_unit, step_size, ratio, capacity, used)
  LEFT JOIN resource_class c ON c.id = i.class;

CREATE VIEW allocations AS
  SELECT k.id AS consumer, k.project, k."user", k.type, a.provider, p.name AS provider_name, c.name AS resource_class,
         a.amount, k.lease_expires_at
  FROM consumer k
  CROSS JOIN LATERAL unnest(k.provider, k.class, k.amount) AS a(provider, class, amount)
  LEFT JOIN provider p ON p.id = a.provider
  LEFT JOIN resource_class c ON c.id = a.class;

CREATE VIEW usages AS
  SELECT project, "user", type, resource_class, sum(amount) AS used, count(DISTINCT consumer) AS consumers
  FROM allocations GROUP BY project, "user", type, resource_class;

CREATE VIEW leases AS
  SELECT k.id AS consumer, k.project, k."user", k.type, k.lease_expires_at
  FROM consumer k WHERE k.lease_expires_at IS NOT NULL;

CREATE VIEW provider_traits AS
  SELECT p.id AS provider, p.name AS provider_name, t.name AS trait
  FROM provider p CROSS JOIN LATERAL unnest(p.trait) AS u(id) LEFT JOIN trait t ON t.id = u.id;

CREATE VIEW provider_aggregates AS
  SELECT p.id AS provider, p.name AS provider_name, u.aggregate
  FROM provider p CROSS JOIN LATERAL unnest(p.aggregate) AS u(aggregate);
