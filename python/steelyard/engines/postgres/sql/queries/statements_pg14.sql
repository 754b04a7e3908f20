-- What each statement of a database did so far; statements that differ in spaces alone are one.
SELECT regexp_replace(btrim(query, E' \n\t;'), '\s+', ' ', 'g'),
       sum(calls), sum(wal_bytes), sum(wal_fpi), sum(shared_blks_read),
       (SELECT dealloc FROM pg_stat_statements_info)
  FROM pg_stat_statements s
  JOIN pg_database d ON d.oid = s.dbid
 WHERE d.datname = %(database)s AND toplevel AND query IS NOT NULL
 GROUP BY 1
