-- Q11, important stock of a nation: parts worth more than a share of all of it.
\set nation random(0, 24)
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value
  FROM partsupp, supplier, nation
 WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey
   AND n_name = drawing_nation(:nation)
 GROUP BY ps_partkey
HAVING sum(ps_supplycost * ps_availqty) > (
       SELECT sum(ps_supplycost * ps_availqty) * 0.01 / :scale
         FROM partsupp, supplier, nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey
          AND n_name = drawing_nation(:nation))
 ORDER BY value DESC;
