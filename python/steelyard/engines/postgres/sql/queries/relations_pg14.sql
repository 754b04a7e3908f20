-- Tables, materialised views, their TOAST tables and their indexes: what a buffer pool may hold of
-- a database beside its catalogs, whose oids lie below FirstNormalObjectId (access/transam.h).
-- Of an index also its order, in words for ORDER BY, and the condition of a partial one.
SELECT c.oid::bigint,
       c.relkind IN ('i') AS is_index,
       pg_catalog.pg_relation_size(c.oid) / current_setting('block_size')::bigint AS blocks,
       greatest(c.reltuples, 0)::bigint AS rows,
       c.relname::text AS name,
       coalesce(x.indrelid, c.oid)::regclass::text AS relation,
       coalesce(am.amname, '') = 'btree' AS ordered,
       pg_catalog.pg_get_expr(x.indpred, x.indrelid) AS condition,
       (SELECT string_agg(
                   pg_catalog.pg_get_indexdef(x.indexrelid, k, true)
                   || CASE x.indoption[k - 1] & 1 WHEN 1 THEN ' DESC' ELSE ' ASC' END
                   || CASE x.indoption[k - 1] & 2 WHEN 2 THEN ' NULLS FIRST' ELSE ' NULLS LAST' END,
                   ', ' ORDER BY k)
          FROM generate_series(1, x.indnkeyatts) AS k) AS order_by
  FROM pg_catalog.pg_class AS c
  LEFT JOIN pg_catalog.pg_index AS x ON x.indexrelid = c.oid
  LEFT JOIN pg_catalog.pg_am AS am ON am.oid = c.relam
 WHERE c.relkind IN ('r', 'm', 't', 'i')
   AND c.relpersistence <> 't'
   AND c.oid >= 16384
   AND (x.indexrelid IS NULL OR x.indisvalid)
