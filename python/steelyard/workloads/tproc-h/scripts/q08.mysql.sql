-- Q8, market share of a nation in its region, for a kind of part, by year. What is drawn for the sum
-- is a table of one row: outside of conditions MySQL evaluates a function for every row.
\set nation random(0, 24)
\set type random(0, 149)
SELECT o_year,
       sum(CASE WHEN nation = name THEN volume ELSE 0 END) / sum(volume)
       AS mkt_share
  FROM (SELECT drawing_nation(:nation) AS name) AS drawn,
       (SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year,
               l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
          FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
         WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
           AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey
           AND n1.n_regionkey = r_regionkey AND r_name = drawing_region_of(:nation)
           AND s_nationkey = n2.n_nationkey
           AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
           AND p_type = drawing_type(:type)) AS all_nations
 GROUP BY o_year
 ORDER BY o_year;
