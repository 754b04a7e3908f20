-- No job is taken twice, and none is lost. Every row that a statement returns is a violation.

SELECT format('job %s was taken %s times', id, count(*)) FROM finished
 GROUP BY id HAVING count(*) > 1 LIMIT 10;

SELECT format('job %s is finished and waits still', j.id)
  FROM finished f JOIN jobs j ON j.id = f.id LIMIT 10;

-- A producer counts its jobs: all from the first to the last that arrived wait or are finished.
SELECT format('producer %s sent jobs 1 to %s, but %s are there', producer, max(number), count(*))
  FROM (SELECT producer, number FROM jobs UNION ALL SELECT producer, number FROM finished) arrived
 GROUP BY producer
HAVING count(*) <> max(number) OR count(DISTINCT number) <> count(*) OR min(number) <> 1;

-- Those of the load are producer 0's.
SELECT format('%s of the %s jobs of the load are there', number, 1000 * :scale)
  FROM (SELECT count(*) AS number
          FROM (SELECT producer FROM jobs UNION ALL SELECT producer FROM finished) arrived
         WHERE producer = 0) loaded
 WHERE number <> 1000 * :scale;
