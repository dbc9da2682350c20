-- The same claim as a client would make it that decides by itself: read under a row lock, then write, then commit.
\set host random(0, 9999)
BEGIN;
SELECT generation, allocation_generation, class, capacity, used FROM provider
WHERE id = ('00000000-0000-4000-8000-' || lpad(:host::text, 12, '0'))::uuid FOR UPDATE;
UPDATE provider
SET used = ARRAY[used[1] + 1, used[2] + 256, used[3] + 1], allocation_generation = allocation_generation + 1
WHERE id = ('00000000-0000-4000-8000-' || lpad(:host::text, 12, '0'))::uuid
  AND used[1] + 1 <= capacity[1] AND used[2] + 256 <= capacity[2] AND used[3] + 1 <= capacity[3];
INSERT INTO consumer (id, generation, project, "user", type, provider, class, amount, created_at, updated_at)
SELECT gen_random_uuid(), 1, 'bench', 'bench', 'INSTANCE', ARRAY[id, id, id], class, '{1,256,1}', now(), now()
FROM provider WHERE id = ('00000000-0000-4000-8000-' || lpad(:host::text, 12, '0'))::uuid;
COMMIT;
