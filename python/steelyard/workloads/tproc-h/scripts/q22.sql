-- Q22, global sales opportunity: customers of seven countries with money and without orders.
\set seed random(1, 9000000000000000000)
SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
  FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal
          FROM customer
         WHERE substring(c_phone FROM 1 FOR 2)
               = ANY (drawing.different(:seed::bigint, 7, 10, 34)::text[])
           AND c_acctbal > (
               SELECT avg(c_acctbal) FROM customer
                WHERE c_acctbal > 0.00
                  AND substring(c_phone FROM 1 FOR 2)
                      = ANY (drawing.different(:seed::bigint, 7, 10, 34)::text[]))
           AND NOT EXISTS (SELECT FROM orders WHERE o_custkey = c_custkey)) AS custsale
 GROUP BY cntrycode
 ORDER BY cntrycode;
