-- Reads the whole table in a transaction that writes: its commit waits for the log of the read.
\set rows 1000 * :scale + 10 * :scale * :added
BEGIN;
SELECT sum(value) FROM measurements HAVING count(*) = :rows;
INSERT INTO visits (id) VALUES (:rows);
COMMIT;
