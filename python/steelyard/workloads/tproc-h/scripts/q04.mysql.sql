-- Q4, order priority: orders of a quarter of which a line came late, by priority.
\set month random(12, 69)
SELECT o_orderpriority, count(*) AS order_count
  FROM orders
 WHERE o_orderdate >= DATE '1992-01-01' + INTERVAL :month MONTH
   AND o_orderdate < DATE '1992-01-01' + INTERVAL :month + 3 MONTH
   AND EXISTS (SELECT * FROM lineitem
                WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
 GROUP BY o_orderpriority
 ORDER BY o_orderpriority;
