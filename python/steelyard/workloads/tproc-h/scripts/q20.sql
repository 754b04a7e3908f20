-- Q20, potential part promotion: who in a nation has more parts of a color than he sold in a year.
\set color random(0, 91)
\set year random(1, 5)
\set nation random(0, 24)
SELECT s_name, s_address
  FROM supplier, nation
 WHERE s_suppkey IN (
       SELECT ps_suppkey FROM partsupp
        WHERE ps_partkey IN (
              SELECT p_partkey FROM part WHERE p_name LIKE drawing.color(:color::int) || '%')
          AND ps_availqty > (
              SELECT 0.5 * sum(l_quantity) FROM lineitem
               WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                 AND l_shipdate >= drawing.month(12 * :year::int)
                 AND l_shipdate < drawing.month(12 * :year::int + 12)))
   AND s_nationkey = n_nationkey AND n_name = drawing.nation(:nation::int)
 ORDER BY s_name;
