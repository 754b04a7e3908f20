-- What also holds where this is the only script that writes: none of the first rows is gone.
SELECT CONCAT('sbtest1 has ', number, ' rows') FROM (SELECT count(*) AS number FROM sbtest1) r
 WHERE number < 1000 * :scale;
