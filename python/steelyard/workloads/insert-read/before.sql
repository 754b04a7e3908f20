-- The new rows where no checkpoint may stand between them and their readers: they are inserted
-- into the server that is read from, unless they are there.
\if :checkpoint = 0
SET synchronous_commit = on;
\if :frozen = 0
INSERT INTO measurements (id, part, value, payload)
SELECT 1000 * :scale + n, (n % 1000)::int, n::int, repeat(md5(n::text), 2) || left(md5(n::text), 20)
  FROM generate_series(1::bigint, 10::bigint * :scale * :added) AS n
 WHERE NOT EXISTS (SELECT FROM measurements WHERE id = 1000::bigint * :scale + 1);
\endif
\if :vacuumed
VACUUM measurements;
\endif
\endif
