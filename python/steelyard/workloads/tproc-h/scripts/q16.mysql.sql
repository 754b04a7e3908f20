-- Q16, parts and suppliers: how many supply parts of a kind about whom nobody complained.
\set brand random(0, 24)
\set beginning random(0, 29)
\set seed random(1, 9000000000000000000)
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
  FROM partsupp, part
 WHERE p_partkey = ps_partkey
   AND p_brand <> drawing_brand(:brand)
   AND p_type NOT LIKE CONCAT(drawing_type_beginning(:beginning), '%')
   AND FIND_IN_SET(p_size, drawing_different(:seed, 8, 1, 50))
   AND ps_suppkey NOT IN (
       SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
 GROUP BY p_brand, p_type, p_size
 ORDER BY supplier_cnt DESC, p_brand, p_type, p_size;
