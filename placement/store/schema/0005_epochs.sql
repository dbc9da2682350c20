-- The first revision of each epoch: what an older epoch has from there on is lost, also when the log no longer says so.
-- append_log keeps it, which the release before calls too.

-- An older backup that was put back into this database leaves the table of what came after it.
DROP TABLE IF EXISTS epoch;
CREATE TABLE epoch (
  number bigint PRIMARY KEY,
  began_at bigint NOT NULL
);
INSERT INTO epoch (number, began_at)
  WITH RECURSIVE known (number, began_at) AS (
    (SELECT l.epoch, l.epoch_began_at FROM log l ORDER BY l.revision DESC LIMIT 1)
    UNION ALL
    SELECT l.epoch, l.epoch_began_at FROM known k JOIN log l ON l.revision = k.began_at - 1)
  SELECT number, greatest(began_at, 1) FROM known;

CREATE OR REPLACE FUNCTION append_log(
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
  DELETE FROM log WHERE revision BETWEEN new_revision - kept - 8 AND new_revision - kept;
END $$;
