-- Consumers that are released by themselves at their time. The functions of the release before stay, for its processes
-- may write while this step is new: what they write has no lease.

ALTER TABLE consumer ADD COLUMN lease_expires_at timestamptz;

CREATE OR REPLACE VIEW allocations AS
  SELECT k.id AS consumer, k.project, k."user", k.type, a.provider, p.name AS provider_name, c.name AS resource_class,
         a.amount, k.lease_expires_at
  FROM consumer k
  CROSS JOIN LATERAL unnest(k.provider, k.class, k.amount) AS a(provider, class, amount)
  LEFT JOIN provider p ON p.id = a.provider
  LEFT JOIN resource_class c ON c.id = a.class;

CREATE VIEW leases AS
  SELECT k.id AS consumer, k.project, k."user", k.type, k.lease_expires_at
  FROM consumer k WHERE k.lease_expires_at IS NOT NULL;

CREATE FUNCTION insert_consumers(
  ids uuid[], generations bigint[], projects text[], users text[], types text[], providers text[], classes text[],
  amounts text[], created_ats bigint[], updated_ats bigint[], leases bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO consumer (id, generation, project, "user", type, provider, class, amount, created_at, updated_at,
                        lease_expires_at)
  SELECT u.id, u.generation, u.project, u."user", u.type, u.provider::uuid[], u.class::int[], u.amount::int[],
         at_micros(u.created_at), at_micros(u.updated_at), at_micros(u.lease)
  FROM unnest(ids, generations, projects, users, types, providers, classes, amounts, created_ats, updated_ats, leases)
    AS u(id, generation, project, "user", type, provider, class, amount, created_at, updated_at, lease);
END $$;

CREATE FUNCTION update_consumers(
  ids uuid[], old_generations bigint[], generations bigint[], projects text[], users text[], types text[],
  providers text[], classes text[], amounts text[], created_ats bigint[], updated_ats bigint[], leases bigint[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  UPDATE consumer k
  SET generation = u.generation, project = u.project, "user" = u."user", type = u.type, provider = u.provider::uuid[],
      class = u.class::int[], amount = u.amount::int[], created_at = at_micros(u.created_at),
      updated_at = at_micros(u.updated_at), lease_expires_at = at_micros(u.lease)
  FROM unnest(ids, old_generations, generations, projects, users, types, providers, classes, amounts, created_ats,
              updated_ats, leases)
    AS u(id, old_generation, generation, project, "user", type, provider, class, amount, created_at, updated_at, lease)
  WHERE k.id = u.id AND k.generation = u.old_generation;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('consumers', cardinality(ids), n);
END $$;

CREATE OR REPLACE FUNCTION update_consumers(
  ids uuid[], old_generations bigint[], generations bigint[], projects text[], users text[], types text[],
  providers text[], classes text[], amounts text[], created_ats bigint[], updated_ats bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM update_consumers(ids, old_generations, generations, projects, users, types, providers, classes, amounts,
                           created_ats, updated_ats, array_fill(NULL::bigint, ARRAY[cardinality(ids)]));
END $$;
