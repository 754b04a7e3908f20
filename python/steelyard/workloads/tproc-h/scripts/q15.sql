-- Q15, top supplier of a quarter. The specification allows a common table expression for its view.
\set month random(12, 69)
WITH revenue AS (
    SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
      FROM lineitem
     WHERE l_shipdate >= drawing.month(:month::int)
       AND l_shipdate < drawing.month(:month::int + 3)
     GROUP BY l_suppkey)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
  FROM supplier, revenue
 WHERE s_suppkey = supplier_no
   AND total_revenue = (SELECT max(total_revenue) FROM revenue)
 ORDER BY s_suppkey;
