-- Q16, parts and suppliers: how many supply parts of a kind about whom nobody complained.
\set brand random(0, 24)
\set beginning random(0, 29)
\set seed random(1, 9000000000000000000)
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
  FROM partsupp, part
 WHERE p_partkey = ps_partkey
   AND p_brand <> drawing.brand(:brand::int)
   AND p_type NOT LIKE drawing.type_beginning(:beginning::int) || '%'
   AND p_size = ANY (drawing.different(:seed::bigint, 8, 1, 50))
   AND ps_suppkey NOT IN (
       SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
 GROUP BY p_brand, p_type, p_size
 ORDER BY supplier_cnt DESC, p_brand, p_type, p_size;
