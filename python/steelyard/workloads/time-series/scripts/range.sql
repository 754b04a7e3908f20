-- The last hour of one device, by five minutes.
\set device random(1, :devices)
SELECT to_timestamp(floor(extract(epoch FROM at) / 300) * 300) AS slot,
       avg(value), min(value), max(value), count(*)
  FROM readings
 WHERE device = :device
   AND at > (SELECT max(at) FROM readings WHERE device = :device) - interval '1 hour'
 GROUP BY slot ORDER BY slot;
