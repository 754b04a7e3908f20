-- What also holds where this is the only script that writes: no row is more, and none is less.
\if :skip_trx = 0
SELECT CONCAT('sbtest1 has ', number, ' rows, not ', 1000 * :scale)
  FROM (SELECT count(*) AS number FROM sbtest1) r
 WHERE number <> 1000 * :scale;
\endif
