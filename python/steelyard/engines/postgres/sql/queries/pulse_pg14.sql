-- Position in the log, full-page images, and log since the last completed checkpoint's redo point.
-- Backends report images at most once a second (PGSTAT_MIN_INTERVAL of pgstat.c).
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal_bytes,
       w.wal_fpi AS images,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), c.redo_lsn)::bigint AS owed_bytes
  FROM pg_stat_wal AS w,
       pg_control_checkpoint() AS c
