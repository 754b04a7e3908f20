-- Reads one row in a transaction that writes: its commit waits for the log of what the read did.
-- The next page of this client: its first row, or behind a window of pages another row of them.
\set turn 0
\set page :step
\if :window > 0
\set page :step % :window
\set turn :step / :window
\endif
\set step :step + 1
-- Behind what was there before, pages begin anew: 61 rows each.
\set first 1000 * :scale + (61 - 1000 * :scale % 61) % 61 + 1
\set last 1000 * :scale + 10 * :scale * :added - 40 * 61
\set id :first + (:page * :clients + :client_id) * 61 + :turn % 3 * 20
-- Pages that are used up, or kept for the probes, have no such row.
\if :id > :last
\set id 0
\endif
BEGIN;
SELECT value, payload FROM measurements WHERE id = :id;
INSERT INTO visits (id) VALUES (:id);
COMMIT;
