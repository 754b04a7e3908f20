-- Q5, local supplier volume: what customers bought from suppliers of their own nation in a year.
\set region random(0, 4)
\set year random(1, 5)
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM customer, orders, lineitem, supplier, nation, region
 WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
   AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
   AND r_name = drawing_region(:region)
   AND o_orderdate >= DATE '1992-01-01' + INTERVAL 12 * :year MONTH
   AND o_orderdate < DATE '1992-01-01' + INTERVAL 12 * :year + 12 MONTH
 GROUP BY n_name
 ORDER BY revenue DESC;
