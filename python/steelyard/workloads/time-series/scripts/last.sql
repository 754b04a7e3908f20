-- The last reading of every device.
SELECT d.device, r.at, r.value
  FROM generate_series(1, :devices) AS d (device),
       LATERAL (SELECT at, value FROM readings
                 WHERE readings.device = d.device ORDER BY at DESC LIMIT 1) r;
