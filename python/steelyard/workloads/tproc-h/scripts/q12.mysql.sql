-- Q12, shipping modes: late lines of two modes in a year, by the priority of their orders.
\set mode random(0, 6)
\set other (:mode + random(1, 6)) % 7
\set year random(1, 5)
SELECT l_shipmode,
       sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count,
       sum(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END)
       AS low_line_count
  FROM orders, lineitem
 WHERE o_orderkey = l_orderkey
   AND l_shipmode IN (drawing_mode(:mode), drawing_mode(:other))
   AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
   AND l_receiptdate >= DATE '1992-01-01' + INTERVAL 12 * :year MONTH
   AND l_receiptdate < DATE '1992-01-01' + INTERVAL 12 * :year + 12 MONTH
 GROUP BY l_shipmode
 ORDER BY l_shipmode;
