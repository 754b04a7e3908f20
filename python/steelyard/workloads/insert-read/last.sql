-- The new rows, which nobody reads, counts or analyses afterwards: the clean stop behind them is a
-- checkpoint. A vacuum can note that they are committed only when that is in the log on disk, so
-- this commit waits for it.
\if :checkpoint
SET synchronous_commit = on;
\if :frozen = 0
INSERT INTO measurements (id, part, value, payload)
SELECT 1000 * :scale + n, (n % 1000)::int, n::int, repeat(md5(n::text), 2) || left(md5(n::text), 20)
  FROM generate_series(1::bigint, 10::bigint * :scale * :added) AS n;
\endif
\if :vacuumed
VACUUM measurements;
\endif
\endif
