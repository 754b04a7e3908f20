-- The ten devices with the highest mean over the last ten minutes.
SELECT device, avg(value) AS mean, count(*)
  FROM readings
 WHERE at > (SELECT max(at) FROM readings WHERE device = 1) - interval '10 minutes'
 GROUP BY device ORDER BY mean DESC, device LIMIT 10;
