-- Takes the oldest job that no other client holds, finishes it, and removes it.
\set job 0
BEGIN;
SELECT id AS job, producer AS source, number AS place, payload FROM jobs
 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED \aset
-- The queue may be empty.
\if :job > 0
INSERT INTO finished (id, producer, number, consumer) VALUES (:job, :source, :place, :client_id);
DELETE FROM jobs WHERE id = :job;
\endif
COMMIT;
