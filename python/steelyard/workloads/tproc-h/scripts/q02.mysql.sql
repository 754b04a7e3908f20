-- Q2, minimum cost supplier: who in a region sells parts of a size and kind at the lowest cost.
\set size random(1, 50)
\set ending random(0, 4)
\set region random(0, 4)
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
  FROM part, supplier, partsupp, nation, region
 WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey
   AND p_size = :size AND p_type LIKE CONCAT('%', drawing_type_ending(:ending))
   AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
   AND r_name = drawing_region(:region)
   AND ps_supplycost = (
       SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey
          AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
          AND r_name = drawing_region(:region))
 ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
 LIMIT 100;
