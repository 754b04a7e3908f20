-- Q13, how many customers have how many orders, but for those with certain words.
\set words random(0, 15)
SELECT c_count, count(*) AS custdist
  FROM (SELECT c_custkey, count(o_orderkey) AS c_count
          FROM customer LEFT JOIN orders
               ON c_custkey = o_custkey AND o_comment NOT LIKE drawing_complaint(:words)
         GROUP BY c_custkey) AS c_orders
 GROUP BY c_count
 ORDER BY custdist DESC, c_count DESC;
