-- Q22, global sales opportunity: customers of seven countries with money and without orders.
\set seed random(1, 9000000000000000000)
SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
  FROM (SELECT SUBSTRING(c_phone, 1, 2) AS cntrycode, c_acctbal
          FROM customer
         WHERE FIND_IN_SET(SUBSTRING(c_phone, 1, 2), drawing_different(:seed, 7, 10, 34))
           AND c_acctbal > (
               SELECT avg(c_acctbal) FROM customer
                WHERE c_acctbal > 0.00
                  AND FIND_IN_SET(SUBSTRING(c_phone, 1, 2), drawing_different(:seed, 7, 10, 34)))
           AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale
 GROUP BY cntrycode
 ORDER BY cntrycode;
