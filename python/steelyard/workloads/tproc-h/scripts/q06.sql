-- Q6, forecasting revenue change: what small orders of a year would have brought without discount.
\set year random(1, 5)
\set discount random(2, 9)
\set quantity random(24, 25)
SELECT sum(l_extendedprice * l_discount) AS revenue
  FROM lineitem
 WHERE l_shipdate >= drawing.month(12 * :year::int)
   AND l_shipdate < drawing.month(12 * :year::int + 12)
   AND l_discount BETWEEN (:discount::numeric - 1) / 100 AND (:discount::numeric + 1) / 100
   AND l_quantity < :quantity::int;
