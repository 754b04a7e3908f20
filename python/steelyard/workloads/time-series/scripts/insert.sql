-- Inserts a tick: a reading of every device in one statement. The server makes the rows.
WITH next AS (SELECT nextval('ticks') AS tick)
INSERT INTO readings (at, device, value)
SELECT timestamptz '2026-01-01 00:00:00+00' + tick * interval '10 s', device,
       (tick * 7919 + device::bigint * 104729) % 10000 / 100.0::float8
  FROM next, generate_series(1, :devices) device;
