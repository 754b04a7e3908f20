-- Takes, finishes and removes the oldest job that no other client holds, in one statement.
WITH taken AS (
    DELETE FROM jobs
     WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, producer, number, payload)
INSERT INTO finished (id, producer, number, consumer)
SELECT id, producer, number, :client_id FROM taken;
