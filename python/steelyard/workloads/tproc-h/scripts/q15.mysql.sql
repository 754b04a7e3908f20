-- Q15, top supplier of a quarter. The view of the specification stands in it twice: MySQL 5.7 has no
-- common table expression, and MariaDB evaluates one wherever it is named.
\set month random(12, 69)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
  FROM supplier,
       (SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
          FROM lineitem
         WHERE l_shipdate >= DATE '1992-01-01' + INTERVAL :month MONTH
           AND l_shipdate < DATE '1992-01-01' + INTERVAL :month + 3 MONTH
         GROUP BY l_suppkey) AS revenue
 WHERE s_suppkey = supplier_no
   AND total_revenue = (
       SELECT max(total)
         FROM (SELECT sum(l_extendedprice * (1 - l_discount)) AS total
                 FROM lineitem
                WHERE l_shipdate >= DATE '1992-01-01' + INTERVAL :month MONTH
                  AND l_shipdate < DATE '1992-01-01' + INTERVAL :month + 3 MONTH
                GROUP BY l_suppkey) AS revenues)
 ORDER BY s_suppkey;
