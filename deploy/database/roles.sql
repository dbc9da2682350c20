-- Three roles for a PostgreSQL that Berth reaches over the network. Run it with psql as a superuser, in the database of
-- Berth, before the first start and again after each upgrade of the schema:
--
--   psql --dbname=berth --file=roles.sql
--
--   berth_owner   owns the tables and does the steps of the schema
--   berth_app     reads and writes rows; what placement runs as every day. It can make, change or drop no table
--   berth_reader  only reads: for reports, and for a backup with pg_dump
--
-- Give each a password with \password, or let it log in with a certificate. May be run as often as you like.
\set ON_ERROR_STOP on
BEGIN;
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['berth_owner', 'berth_app', 'berth_reader'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', wanted);
    END IF;
  END LOOP;
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO berth_owner, berth_app, berth_reader', current_database());
END $$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO berth_owner;
GRANT USAGE ON SCHEMA public TO berth_app, berth_reader;

-- What is there already, and what later steps of the schema make.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO berth_app;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO berth_reader;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO berth_app, berth_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE berth_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO berth_app;
ALTER DEFAULT PRIVILEGES FOR ROLE berth_owner IN SCHEMA public GRANT SELECT ON TABLES TO berth_reader;

-- The schema's own record of its steps is the owner's alone to write.
DO $$
BEGIN
  IF to_regclass('public.ledger_schema') IS NOT NULL THEN
    REVOKE INSERT, UPDATE, DELETE ON public.ledger_schema FROM berth_app;
  END IF;
  -- Placement makes and drops the partitions of kept request ids every hour. It does so through this function alone,
  -- which therefore runs as the owner, finds only the owner's tables, and is for berth_app only.
  IF to_regproc('public.rotate_requests') IS NOT NULL THEN
    ALTER FUNCTION public.rotate_requests(bigint, int) OWNER TO berth_owner;
    ALTER FUNCTION public.rotate_requests(bigint, int) SECURITY DEFINER;
    ALTER FUNCTION public.rotate_requests(bigint, int) SET search_path = public, pg_temp;
    REVOKE EXECUTE ON FUNCTION public.rotate_requests(bigint, int) FROM PUBLIC, berth_reader;
    GRANT EXECUTE ON FUNCTION public.rotate_requests(bigint, int) TO berth_app;
  END IF;
END $$;
COMMIT;
