-- Q19, discounted revenue of three brands, each in its containers and quantities.
\set first random(0, 24)
\set second random(0, 24)
\set third random(0, 24)
\set few random(1, 10)
\set some random(10, 20)
\set many random(20, 30)
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM lineitem, part
 WHERE p_partkey = l_partkey
   AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
   AND ((p_brand = drawing_brand(:first)
         AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
         AND l_quantity BETWEEN :few AND :few + 10 AND p_size BETWEEN 1 AND 5)
        OR (p_brand = drawing_brand(:second)
            AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity BETWEEN :some AND :some + 10 AND p_size BETWEEN 1 AND 10)
        OR (p_brand = drawing_brand(:third)
            AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity BETWEEN :many AND :many + 10 AND p_size BETWEEN 1 AND 15));
