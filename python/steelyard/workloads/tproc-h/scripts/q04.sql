-- Q4, order priority: orders of a quarter of which a line came late, by priority.
\set month random(12, 69)
SELECT o_orderpriority, count(*) AS order_count
  FROM orders
 WHERE o_orderdate >= drawing.month(:month::int)
   AND o_orderdate < drawing.month(:month::int + 3)
   AND EXISTS (SELECT FROM lineitem
                WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
 GROUP BY o_orderpriority
 ORDER BY o_orderpriority;
