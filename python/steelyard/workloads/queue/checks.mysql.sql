-- No job is taken twice, and none is lost. Every row that a statement returns is a violation.

SELECT CONCAT('job ', id, ' was taken ', COUNT(*), ' times') FROM finished
 GROUP BY id HAVING count(*) > 1 LIMIT 10;

SELECT CONCAT('job ', j.id, ' is finished and waits still')
  FROM finished f JOIN jobs j ON j.id = f.id LIMIT 10;

-- A producer counts its jobs: all from the first to the last that arrived wait or are finished.
SELECT CONCAT('producer ', producer, ' sent jobs 1 to ', MAX(number), ', but ', COUNT(*),
              ' are there')
  FROM (SELECT producer, number FROM jobs UNION ALL SELECT producer, number FROM finished) arrived
 GROUP BY producer
HAVING count(*) <> max(number) OR count(DISTINCT number) <> count(*) OR min(number) <> 1;

-- Those of the load are producer 0's.
SELECT CONCAT(number, ' of the ', 1000 * :scale, ' jobs of the load are there')
  FROM (SELECT count(*) AS number
          FROM (SELECT producer FROM jobs UNION ALL SELECT producer FROM finished) arrived
         WHERE producer = 0) loaded
 WHERE number <> 1000 * :scale;
