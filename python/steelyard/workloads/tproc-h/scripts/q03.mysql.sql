-- Q3, shipping priority: the largest orders of a segment that had not been shipped on a day.
\set segment random(0, 4)
\set day random(0, 30)
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
  FROM customer, orders, lineitem
 WHERE c_mktsegment = drawing_segment(:segment)
   AND c_custkey = o_custkey AND l_orderkey = o_orderkey
   AND o_orderdate < DATE '1995-03-01' + INTERVAL :day DAY
   AND l_shipdate > DATE '1995-03-01' + INTERVAL :day DAY
 GROUP BY l_orderkey, o_orderdate, o_shippriority
 ORDER BY revenue DESC, o_orderdate
 LIMIT 10;
