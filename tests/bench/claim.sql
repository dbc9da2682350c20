-- One claim per transaction, in one round trip: what PostgreSQL alone can do on these tables. Less than what placement
-- writes for a claim: no row in the log, no word about the generation that the author saw.
\set host random(0, 9999)
WITH taken AS (
  UPDATE provider
  SET used = ARRAY[used[1] + 1, used[2] + 256, used[3] + 1], allocation_generation = allocation_generation + 1
  WHERE id = ('00000000-0000-4000-8000-' || lpad(:host::text, 12, '0'))::uuid
    AND used[1] + 1 <= capacity[1] AND used[2] + 256 <= capacity[2] AND used[3] + 1 <= capacity[3]
  RETURNING id, class
)
INSERT INTO consumer (id, generation, project, "user", type, provider, class, amount, created_at, updated_at)
SELECT gen_random_uuid(), 1, 'bench', 'bench', 'INSTANCE', ARRAY[id, id, id], class, '{1,256,1}', now(), now()
FROM taken;
