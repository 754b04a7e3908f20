-- Reads all rows of a page at once, as a sequential scan does.
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
\set block (:id - 1) / 61
-- In place of pages that are used up, or kept for the probes, one that is not there.
\if :id > :last
\set block 4000000000
\endif
SELECT sum(value) FROM measurements
 WHERE ctid >= ('(' || :block::bigint || ',0)')::tid
   AND ctid < ('(' || :block::bigint + 1 || ',0)')::tid
HAVING count(*) = 61;
