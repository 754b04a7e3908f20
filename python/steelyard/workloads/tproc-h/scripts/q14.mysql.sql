-- Q14, promotion: its share of a month's revenue in percent.
\set month random(12, 71)
SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
       / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
  FROM lineitem, part
 WHERE l_partkey = p_partkey
   AND l_shipdate >= DATE '1992-01-01' + INTERVAL :month MONTH
   AND l_shipdate < DATE '1992-01-01' + INTERVAL :month + 1 MONTH;
