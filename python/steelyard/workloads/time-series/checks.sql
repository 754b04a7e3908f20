-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- A tick is there whole or not at all.
SELECT format('%s readings of the tick at %s, not %s', count(*), at, :devices)
  FROM readings GROUP BY at HAVING count(*) <> :devices LIMIT 10;

-- Every reading is that of its device at its time.
SELECT format('device %s reads %s at %s', device, value, at)
  FROM (SELECT *, extract(epoch FROM at - timestamptz '2026-01-01 00:00:00+00')::bigint / 10 AS tick
          FROM readings) r
 WHERE value <> (tick * 7919 + device::bigint * 104729) % 10000 / 100.0::float8
    OR tick NOT BETWEEN 0 AND (SELECT last_value FROM ticks) OR device NOT BETWEEN 1 AND :devices
 LIMIT 10;

-- Ticks of the load are there, and of many that were given out, some.
SELECT format('readings has %s rows, but %s ticks were loaded and numbers up to %s given out',
              number, 100 * :scale, last_value)
  FROM (SELECT count(*) AS number FROM readings) r, ticks
 WHERE number < 100 * :scale * :devices::bigint
    OR last_value > 100 * :scale + 2000 AND number = 100 * :scale * :devices::bigint;
