-- Q6, forecasting revenue change: what small orders of a year would have brought without discount.
\set year random(1, 5)
\set discount random(2, 9)
\set quantity random(24, 25)
SELECT sum(l_extendedprice * l_discount) AS revenue
  FROM lineitem
 WHERE l_shipdate >= DATE '1992-01-01' + INTERVAL 12 * :year MONTH
   AND l_shipdate < DATE '1992-01-01' + INTERVAL 12 * :year + 12 MONTH
   AND l_discount BETWEEN (:discount - 1) / 100 AND (:discount + 1) / 100
   AND l_quantity < :quantity;
