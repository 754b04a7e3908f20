-- Q17, small quantities: what a year would lose without the small orders of a brand in a container.
\set brand random(0, 24)
\set container random(0, 39)
SELECT sum(l_extendedprice) / 7.0 AS avg_yearly
  FROM lineitem, part
 WHERE p_partkey = l_partkey
   AND p_brand = drawing_brand(:brand) AND p_container = drawing_container(:container)
   AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey);
