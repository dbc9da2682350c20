-- Times as before, on a way that is immutable all along, so that PostgreSQL takes these bodies into the statements that
-- call them.

CREATE OR REPLACE FUNCTION at_micros(micros bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (timestamp '1970-01-01 00:00:00' + micros * interval '1 microsecond') AT TIME ZONE 'UTC'
$$;
CREATE OR REPLACE FUNCTION micros_of(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM at AT TIME ZONE 'UTC') * 1000000)::bigint
$$;
