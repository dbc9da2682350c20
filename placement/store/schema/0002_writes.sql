-- The functions that one batch calls. Each takes arrays of equal length, with one element per row.
-- A function raises BR001 if a row in the table is not as the batch expects: memory and tables then
-- disagree, and the batch writes nothing. These functions contain no rules.
--
-- The arrays become rows in a SELECT list. As a table, FROM unnest(a, b), PostgreSQL would first copy
-- the rows into a store that it makes for each statement: that of a claim then took a third longer.

CREATE FUNCTION expect_rows(what text, wanted bigint, met bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF wanted <> met THEN
    RAISE EXCEPTION '%: % of % rows are as expected', what, met, wanted USING ERRCODE = 'BR001';
  END IF;
END $$;

-- Takes the ledger's lock. Returns whether the newest row of the log is the batch `batch` with the
-- revision `base`, and no answer is kept for any of the request ids. Must be volatile: each query
-- below then has a snapshot of its own, which PostgreSQL takes after the lock is held.
CREATE FUNCTION lock_ledger_at(
  ledger_lock bigint, base bigint, batch uuid, actors text[], request_ids text[]) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE head record;
BEGIN
  PERFORM pg_advisory_xact_lock(ledger_lock);
  SELECT l.revision, l.batch_id INTO head FROM log l ORDER BY l.revision DESC LIMIT 1;
  IF NOT FOUND OR head.revision <> base OR head.batch_id <> batch THEN RETURN false; END IF;
  IF cardinality(actors) = 0 THEN RETURN true; END IF;
  PERFORM FROM find_requests(actors, request_ids);
  RETURN NOT FOUND;
END $$;

-- Writes the use of providers whose configuration stays as it is: the common result of a claim. It
-- never sets `overcommitted`. The use of an overcommitted provider may not grow beyond its capacity.
-- Overcommitted providers are rare, so they have a statement of their own, which is mostly left out.
CREATE FUNCTION write_used(
  ids uuid[], generations bigint[], old_counts bigint[], new_counts bigint[], useds text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint; m bigint;
BEGIN
  UPDATE provider p
  SET allocation_generation = u.new_count, used = u.used::bigint[]
  FROM (
    SELECT unnest(ids) AS id, unnest(generations) AS generation, unnest(old_counts) AS old_count,
           unnest(new_counts) AS new_count, unnest(useds) AS used
  ) AS u
  WHERE p.id = u.id AND p.generation = u.generation AND p.allocation_generation = u.old_count AND NOT p.overcommitted;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  UPDATE provider p
  SET allocation_generation = u.new_count,
      used = u.used::bigint[],
      overcommitted = NOT each_within(u.used::bigint[], p.capacity)
  FROM (
    SELECT unnest(ids) AS id, unnest(generations) AS generation, unnest(old_counts) AS old_count,
           unnest(new_counts) AS new_count, unnest(useds) AS used
  ) AS u
  WHERE p.id = u.id AND p.generation = u.generation AND p.allocation_generation = u.old_count AND p.overcommitted
    AND each_within(u.used::bigint[], ARRAY(
          SELECT greatest(o.used, o.capacity) FROM unnest(p.used, p.capacity) WITH ORDINALITY AS o(used, capacity, place)
          ORDER BY o.place));
  GET DIAGNOSTICS m = ROW_COUNT;
  PERFORM expect_rows('providers used', cardinality(ids), n + m);
END $$;

-- Writes whole providers. An old generation of null says that the provider is new.
CREATE FUNCTION write_providers(
  ids uuid[], old_generations bigint[], old_counts bigint[], names text[], parents uuid[], generations bigint[],
  counts bigint[], classes text[], totals text[], reserveds text[], min_units text[], max_units text[],
  step_sizes text[], ratios text[], capacities text[], useds text[], overcommitteds boolean[], traits text[],
  aggregates text[], created_ats bigint[], updated_ats bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint; m bigint;
BEGIN
  UPDATE provider p
  SET name = u.name, parent = u.parent, generation = u.generation, allocation_generation = u.count,
      class = u.class::int[], total = u.total::int[], reserved = u.reserved::int[], min_unit = u.min_unit::int[],
      max_unit = u.max_unit::int[], step_size = u.step_size::int[], ratio = u.ratio::float8[],
      capacity = u.capacity::bigint[], used = u.used::bigint[], overcommitted = u.overcommitted,
      trait = u.trait::int[], aggregate = u.aggregate::uuid[], created_at = at_micros(u.created_at),
      updated_at = at_micros(u.updated_at)
  FROM (
    SELECT unnest(ids) AS id, unnest(old_generations) AS old_generation, unnest(old_counts) AS old_count,
           unnest(names) AS name, unnest(parents) AS parent, unnest(generations) AS generation,
           unnest(counts) AS count, unnest(classes) AS class, unnest(totals) AS total, unnest(reserveds) AS reserved,
           unnest(min_units) AS min_unit, unnest(max_units) AS max_unit, unnest(step_sizes) AS step_size,
           unnest(ratios) AS ratio, unnest(capacities) AS capacity, unnest(useds) AS used,
           unnest(overcommitteds) AS overcommitted, unnest(traits) AS trait, unnest(aggregates) AS aggregate,
           unnest(created_ats) AS created_at, unnest(updated_ats) AS updated_at
  ) AS u
  WHERE p.id = u.id AND p.generation = u.old_generation AND p.allocation_generation = u.old_count;
  GET DIAGNOSTICS n = ROW_COUNT;
  INSERT INTO provider (id, name, parent, generation, allocation_generation, class, total, reserved, min_unit, max_unit,
                        step_size, ratio, capacity, used, overcommitted, trait, aggregate, created_at, updated_at)
  SELECT u.id, u.name, u.parent, u.generation, u.count, u.class::int[], u.total::int[], u.reserved::int[],
         u.min_unit::int[], u.max_unit::int[], u.step_size::int[], u.ratio::float8[], u.capacity::bigint[],
         u.used::bigint[], u.overcommitted, u.trait::int[], u.aggregate::uuid[], at_micros(u.created_at),
         at_micros(u.updated_at)
  FROM (
    SELECT unnest(ids) AS id, unnest(old_generations) AS old_generation, unnest(names) AS name,
           unnest(parents) AS parent, unnest(generations) AS generation, unnest(counts) AS count,
           unnest(classes) AS class, unnest(totals) AS total, unnest(reserveds) AS reserved,
           unnest(min_units) AS min_unit, unnest(max_units) AS max_unit, unnest(step_sizes) AS step_size,
           unnest(ratios) AS ratio, unnest(capacities) AS capacity, unnest(useds) AS used,
           unnest(overcommitteds) AS overcommitted, unnest(traits) AS trait, unnest(aggregates) AS aggregate,
           unnest(created_ats) AS created_at, unnest(updated_ats) AS updated_at
  ) AS u
  WHERE u.old_generation IS NULL;
  GET DIAGNOSTICS m = ROW_COUNT;
  PERFORM expect_rows('providers', cardinality(ids), n + m);
END $$;

CREATE FUNCTION remove_providers(ids uuid[], old_generations bigint[], old_counts bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  DELETE FROM provider p USING (
    SELECT unnest(ids) AS id, unnest(old_generations) AS generation, unnest(old_counts) AS count
  ) AS u
  WHERE p.id = u.id AND p.generation = u.generation AND p.allocation_generation = u.count;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('providers removed', cardinality(ids), n);
END $$;

CREATE FUNCTION insert_consumers(
  ids uuid[], generations bigint[], projects text[], users text[], types text[], providers text[], classes text[],
  amounts text[], created_ats bigint[], updated_ats bigint[], leases bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO consumer (id, generation, project, "user", type, provider, class, amount, created_at, updated_at,
                        lease_expires_at)
  SELECT u.id, u.generation, u.project, u."user", u.type, u.provider::uuid[], u.class::int[], u.amount::int[],
         at_micros(u.created_at), at_micros(u.updated_at), at_micros(u.lease)
  FROM (
    SELECT unnest(ids) AS id, unnest(generations) AS generation, unnest(projects) AS project, unnest(users) AS "user",
           unnest(types) AS type, unnest(providers) AS provider, unnest(classes) AS class, unnest(amounts) AS amount,
           unnest(created_ats) AS created_at, unnest(updated_ats) AS updated_at, unnest(leases) AS lease
  ) AS u;
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
  FROM (
    SELECT unnest(ids) AS id, unnest(old_generations) AS old_generation, unnest(generations) AS generation,
           unnest(projects) AS project, unnest(users) AS "user", unnest(types) AS type, unnest(providers) AS provider,
           unnest(classes) AS class, unnest(amounts) AS amount, unnest(created_ats) AS created_at,
           unnest(updated_ats) AS updated_at, unnest(leases) AS lease
  ) AS u
  WHERE k.id = u.id AND k.generation = u.old_generation;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('consumers', cardinality(ids), n);
END $$;

CREATE FUNCTION remove_consumers(ids uuid[], old_generations bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  DELETE FROM consumer k USING (SELECT unnest(ids) AS id, unnest(old_generations) AS generation) AS u
  WHERE k.id = u.id AND k.generation = u.generation;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('consumers removed', cardinality(ids), n);
END $$;

-- Writes the table `kind`, which is resource_class or trait.
CREATE FUNCTION write_names(kind text, removed int[], ids int[], names text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE format('DELETE FROM %I WHERE id = ANY ($1)', kind) USING removed;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows(kind || ' removed', cardinality(removed), n);
  EXECUTE format('INSERT INTO %I (id, name) SELECT unnest($1), unnest($2)', kind) USING ids, names;
END $$;

CREATE FUNCTION write_services(
  hosts text[], binaries text[], ids uuid[], incarnations uuid[], machine_ids text[], versions text[], ups boolean[],
  disableds boolean[], reasons text[], forced_downs boolean[], created_ats bigint[], updated_ats bigint[], zones text[])
  RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO service AS s (host, binary_name, id, incarnation, machine_id, version, up, disabled, disabled_reason,
                            forced_down, created_at, updated_at, zone)
  SELECT u.host, u.binary_name, u.id, u.incarnation, u.machine_id, u.version, u.up, u.disabled, u.reason, u.forced_down,
         at_micros(u.created_at), at_micros(u.updated_at), u.zone
  FROM (
    SELECT unnest(hosts) AS host, unnest(binaries) AS binary_name, unnest(ids) AS id,
           unnest(incarnations) AS incarnation, unnest(machine_ids) AS machine_id, unnest(versions) AS version,
           unnest(ups) AS up, unnest(disableds) AS disabled, unnest(reasons) AS reason,
           unnest(forced_downs) AS forced_down, unnest(created_ats) AS created_at, unnest(updated_ats) AS updated_at,
           unnest(zones) AS zone
  ) AS u
  ON CONFLICT (host, binary_name) DO UPDATE
  SET id = excluded.id, incarnation = excluded.incarnation, machine_id = excluded.machine_id, version = excluded.version,
      up = excluded.up, disabled = excluded.disabled, disabled_reason = excluded.disabled_reason,
      forced_down = excluded.forced_down, created_at = excluded.created_at, updated_at = excluded.updated_at,
      zone = excluded.zone;
END $$;

CREATE FUNCTION remove_services(hosts text[], binaries text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  DELETE FROM service s USING (SELECT unnest(hosts) AS host, unnest(binaries) AS binary_name) AS u
  WHERE s.host = u.host AND s.binary_name = u.binary_name;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('services removed', cardinality(hosts), n);
END $$;

-- NULL among the facts: the row keeps the facts that it has. PostgreSQL then writes only the row again, not the facts,
-- which are stored apart from it.
CREATE FUNCTION write_nodes(
  ids uuid[], names text[], hosts text[], retireds boolean[], incarnations uuid[], sequences bigint[], digests bytea[],
  providers text[], generations text[], factses bytea[], accounts bytea[], created_ats bigint[],
  updated_ats bigint[], total_vcpuses bigint[], total_pcpuses bigint[], total_memories bigint[], total_disks bigint[],
  used_vcpuses bigint[], used_pcpuses bigint[], used_memories bigint[], used_disks bigint[], available_leasts bigint[],
  instance_counts bigint[], task_counts bigint[], storage_ids text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO node AS o (id, name, host, retired, incarnation, report_sequence, digest, reported_provider,
                         reported_generation, facts, account, created_at, updated_at, total_vcpus, total_pcpus,
                         total_memory_mib, total_disk_gib, used_vcpus, used_pcpus, used_memory_mib, used_disk_gib,
                         disk_available_least_gib, instance_count, task_count, storage_id)
  SELECT u.id, u.name, u.host, u.retired, u.incarnation, u.sequence, u.digest, u.provider::uuid[],
         u.generation::bigint[], u.facts, u.account, at_micros(u.created_at), at_micros(u.updated_at),
         u.total_vcpus, u.total_pcpus, u.total_memory, u.total_disk, u.used_vcpus, u.used_pcpus, u.used_memory,
         u.used_disk, u.available_least, u.instance_count, u.task_count, u.storage_id
  FROM (
    SELECT unnest(ids) AS id, unnest(names) AS name, unnest(hosts) AS host, unnest(retireds) AS retired,
           unnest(incarnations) AS incarnation, unnest(sequences) AS sequence, unnest(digests) AS digest,
           unnest(providers) AS provider, unnest(generations) AS generation, unnest(factses) AS facts,
           unnest(accounts) AS account, unnest(created_ats) AS created_at, unnest(updated_ats) AS updated_at,
           unnest(total_vcpuses) AS total_vcpus, unnest(total_pcpuses) AS total_pcpus,
           unnest(total_memories) AS total_memory, unnest(total_disks) AS total_disk,
           unnest(used_vcpuses) AS used_vcpus, unnest(used_pcpuses) AS used_pcpus,
           unnest(used_memories) AS used_memory, unnest(used_disks) AS used_disk,
           unnest(available_leasts) AS available_least, unnest(instance_counts) AS instance_count,
           unnest(task_counts) AS task_count, unnest(storage_ids) AS storage_id
  ) AS u
  ON CONFLICT (id) DO UPDATE
  SET name = excluded.name, host = excluded.host, retired = excluded.retired, incarnation = excluded.incarnation,
      report_sequence = excluded.report_sequence, digest = excluded.digest,
      reported_provider = excluded.reported_provider, reported_generation = excluded.reported_generation,
      facts = coalesce(excluded.facts, o.facts), account = excluded.account, created_at = excluded.created_at,
      updated_at = excluded.updated_at, total_vcpus = excluded.total_vcpus, total_pcpus = excluded.total_pcpus,
      total_memory_mib = excluded.total_memory_mib, total_disk_gib = excluded.total_disk_gib,
      used_vcpus = excluded.used_vcpus, used_pcpus = excluded.used_pcpus, used_memory_mib = excluded.used_memory_mib,
      used_disk_gib = excluded.used_disk_gib, disk_available_least_gib = excluded.disk_available_least_gib,
      instance_count = excluded.instance_count, task_count = excluded.task_count, storage_id = excluded.storage_id;
END $$;

CREATE FUNCTION remove_nodes(ids uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  DELETE FROM node o WHERE o.id = ANY (ids);
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('nodes removed', cardinality(ids), n);
END $$;

-- Writes whole records. An old generation of null says that the record is new.
CREATE FUNCTION write_records(
  ids uuid[], old_generations bigint[], kinds smallint[], generations bigint[], wholes uuid[], contents bytea[])
  RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint; m bigint;
BEGIN
  UPDATE record r
  SET generation = u.generation, part_of = u.whole, content = u.content
  FROM (
    SELECT unnest(ids) AS id, unnest(old_generations) AS old_generation, unnest(kinds) AS kind,
           unnest(generations) AS generation, unnest(wholes) AS whole, unnest(contents) AS content
  ) AS u
  WHERE r.id = u.id AND r.kind = u.kind AND r.generation = u.old_generation;
  GET DIAGNOSTICS n = ROW_COUNT;
  INSERT INTO record (id, kind, generation, part_of, content)
  SELECT u.id, u.kind, u.generation, u.whole, u.content
  FROM (
    SELECT unnest(ids) AS id, unnest(old_generations) AS old_generation, unnest(kinds) AS kind,
           unnest(generations) AS generation, unnest(wholes) AS whole, unnest(contents) AS content
  ) AS u
  WHERE u.old_generation IS NULL;
  GET DIAGNOSTICS m = ROW_COUNT;
  PERFORM expect_rows('records', cardinality(ids), n + m);
END $$;

CREATE FUNCTION remove_records(ids uuid[], kinds smallint[], old_generations bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  DELETE FROM record r USING (
    SELECT unnest(ids) AS id, unnest(kinds) AS kind, unnest(old_generations) AS generation
  ) AS u
  WHERE r.id = u.id AND r.kind = u.kind AND r.generation = u.generation;
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM expect_rows('records removed', cardinality(ids), n);
END $$;

CREATE FUNCTION find_requests(actors text[], request_ids text[])
RETURNS TABLE (actor text, request_id text, body_hash bytea, answer bytea)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  SELECT r.actor, r.request_id, r.body_hash, r.answer
  FROM (SELECT unnest(actors) AS actor, unnest(request_ids) AS request_id) AS u
  JOIN request r ON r.actor = u.actor COLLATE "C" AND r.request_id = u.request_id COLLATE "C";
END $$;

CREATE FUNCTION write_requests(
  actors text[], request_ids text[], body_hashes bytea[], answers bytea[], at bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO request (actor, request_id, created_at, body_hash, answer)
  SELECT u.actor, u.request_id, at_micros(at), u.body_hash, u.answer
  FROM (
    SELECT unnest(actors) AS actor, unnest(request_ids) AS request_id, unnest(body_hashes) AS body_hash,
           unnest(answers) AS answer
  ) AS u;
END $$;

-- The partitions of `request` but for the default one. A partition's name says its first hour and
-- the first hour after it: request_2026010210_2026010222.
CREATE VIEW request_partitions AS
  SELECT c.relname AS name,
         to_timestamp(substr(c.relname, 9, 10) || '+00', 'YYYYMMDDHH24TZH') AS first,
         to_timestamp(substr(c.relname, 20, 10) || '+00', 'YYYYMMDDHH24TZH') AS past
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'request'::regclass AND c.relname ~ '^request_[0-9]{10}_[0-9]{10}$';

-- Makes the partitions that the hour of `at` and the next hour need, and drops those in which every
-- row is older than `kept_hours`. A partition spans half of `kept_hours`: all ids that are kept are
-- then in three partitions, and a fourth one exists only in the hour before it is needed. If
-- `kept_hours` changes, the partitions that exist keep their spans.
--
-- A partition that cannot be made or dropped within 200 ms, for example while a backup reads it,
-- waits for the next hour. `undone` says what was not done and why; it is null if all was done. Rows
-- without a partition go into the default one, of which one call deletes 10,000 old rows at most.
CREATE FUNCTION rotate_requests(at bigint, kept_hours int, OUT undone text)
LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  hour timestamptz := date_trunc('hour', at_micros(at), 'UTC');
  span interval := (kept_hours + 1) / 2 * interval '1 hour';
  oldest timestamptz := hour - kept_hours * interval '1 hour';
  begins timestamptz;
  ends timestamptz;
  old text;
BEGIN
  FOR i IN 0 .. 1 LOOP
    begins := hour + i * interval '1 hour';
    CONTINUE WHEN EXISTS (SELECT FROM request_partitions p WHERE p.first <= begins AND p.past > begins);
    -- If only the later of the two could be made last time, this one ends where that one begins.
    SELECT least(begins + span, min(p.first)) INTO ends FROM request_partitions p WHERE p.first > begins;
    BEGIN
      EXECUTE format(
        'CREATE TABLE %I PARTITION OF request FOR VALUES FROM (%L) TO (%L) WITH (autovacuum_enabled = false)',
        'request_' || to_char(begins AT TIME ZONE 'UTC', 'YYYYMMDDHH24') || '_' ||
          to_char(ends AT TIME ZONE 'UTC', 'YYYYMMDDHH24'), begins, ends);
    EXCEPTION WHEN OTHERS THEN undone := concat(undone, format('no partition begins at %s: %s. ', begins, SQLERRM));
    END;
  END LOOP;
  FOR old IN SELECT p.name FROM request_partitions p WHERE p.past <= oldest LOOP
    BEGIN
      EXECUTE format('DROP TABLE %I', old);
    EXCEPTION WHEN OTHERS THEN undone := concat(undone, format('%s is still there: %s. ', old, SQLERRM));
    END;
  END LOOP;
  DELETE FROM request_default
  WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM request_default d WHERE d.created_at < oldest LIMIT 10000));
END $$;

-- Appends the batch's row to the log. Every eighth batch also deletes the oldest rows, 64 at most,
-- as long as more than `kept` rows are there. The rows that stay follow each other without a gap.
CREATE FUNCTION append_log(
  new_revision bigint, new_epoch bigint, batch uuid, previous uuid, at bigint, new_format int, commands bigint,
  next_class bigint, next_trait bigint, epoch_began bigint, content bytea, kept bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (revision, epoch, batch_id, previous_batch_id, ledger_time, format, command_count, next_class_id,
                   next_trait_id, epoch_began_at, payload)
  VALUES (new_revision, new_epoch, batch, previous, at_micros(at), new_format, commands, next_class, next_trait,
          epoch_began, content);
  IF new_revision = greatest(epoch_began, 1) THEN
    INSERT INTO epoch (number, began_at) VALUES (new_epoch, new_revision);
  END IF;
  IF new_revision % 8 = 0 THEN
    DELETE FROM log
    WHERE revision = ANY (ARRAY(
      SELECT l.revision FROM log l WHERE l.revision <= new_revision - kept ORDER BY l.revision LIMIT 64));
  END IF;
END $$;
