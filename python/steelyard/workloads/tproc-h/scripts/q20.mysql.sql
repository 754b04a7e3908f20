-- Q20, potential part promotion: who in a nation has more parts of a color than he sold in a year.
\set color random(0, 91)
\set year random(1, 5)
\set nation random(0, 24)
SELECT s_name, s_address
  FROM supplier, nation
 WHERE s_suppkey IN (
       SELECT ps_suppkey FROM partsupp
        WHERE ps_partkey IN (
              SELECT p_partkey FROM part WHERE p_name LIKE CONCAT(drawing_color(:color), '%'))
          AND ps_availqty > (
              SELECT 0.5 * sum(l_quantity) FROM lineitem
               WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                 AND l_shipdate >= DATE '1992-01-01' + INTERVAL 12 * :year MONTH
                 AND l_shipdate < DATE '1992-01-01' + INTERVAL 12 * :year + 12 MONTH))
   AND s_nationkey = n_nationkey AND n_name = drawing_nation(:nation)
 ORDER BY s_name;
