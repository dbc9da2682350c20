-- Little statistics of the tables that claims fill. Placement's writer goes by keys, whatever they say; made from
-- 30,000 rows, arrays too, they took 0.6 s of every 15 from the claims. What an operator asks of such a table is
-- planned from 3,000 rows now, and no more is learned of what stands in arrays. A table that is not to be had within
-- two seconds, as an operator vacuums it, stays as it was.
DO $$
DECLARE
  usual text := current_setting('lock_timeout');
  wanted text;
  place record;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  FOREACH wanted IN ARRAY ARRAY['log', 'provider', 'consumer'] LOOP
    BEGIN
      EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', wanted);
      FOR place IN
        SELECT a.attname, t.typcategory = 'A' AS is_array
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = wanted::regclass AND a.attnum > 0 AND NOT a.attisdropped
      LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS %s', wanted, place.attname,
                       CASE WHEN place.is_array THEN 0 ELSE 10 END);
      END LOOP;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  PERFORM set_config('lock_timeout', usual, true);
END $$;

-- Makes the partitions of this hour and the next, and drops those that are past their time. Does what it can: where a
-- backup holds a table the rows go into the default partition and the next hour tries again. Rows of a partition never
-- change, and it goes after a day: to vacuum it would serve nobody.
CREATE OR REPLACE FUNCTION rotate_requests(at bigint, kept_hours int) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  hour timestamptz := date_trunc('hour', at_micros(at), 'UTC');
  name text;
BEGIN
  FOR i IN 0 .. 1 LOOP
    name := 'request_' || to_char((hour + i * interval '1 hour') AT TIME ZONE 'UTC', 'YYYYMMDDHH24');
    BEGIN
      IF to_regclass(name) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF request FOR VALUES FROM (%L) TO (%L) '
                       'WITH (autovacuum_enabled = false)', name, hour + i * interval '1 hour',
                       hour + (i + 1) * interval '1 hour');
      END IF;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  FOR name IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'request'::regclass AND c.relname ~ '^request_\d{10}$'
      AND c.relname < 'request_' || to_char((hour - kept_hours * interval '1 hour') AT TIME ZONE 'UTC', 'YYYYMMDDHH24')
  LOOP
    BEGIN
      EXECUTE format('DROP TABLE %I', name);
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  DELETE FROM request_default WHERE created_at < hour - kept_hours * interval '1 hour';
END $$;
