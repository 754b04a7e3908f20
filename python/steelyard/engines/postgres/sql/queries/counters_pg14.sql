-- Counts everything a server did since its statistics began; 14 and 15 have no pg_stat_io.
-- There blocks_written and blocks_read count extensions too (seen on 15.8), which are not counted
-- by themselves: pages verified can be told from blocks read only from 16 on.
-- `resets` is when each view was last reset: differences across a reset are no figures.
SELECT w.wal_bytes::bigint AS wal_bytes,
       w.wal_records,
       w.wal_fpi AS full_page_images,
       d.blocks_hit,
       d.blocks_read,
       b.buffers_checkpoint + b.buffers_clean + b.buffers_backend AS blocks_written,
       d.xact_commit AS commits,
       d.xact_rollback AS rollbacks,
       d.rows_changed,
       d.deadlocks,
       d.temp_bytes,
       d.checksum_failures,
       b.checkpoints_timed,
       b.checkpoints_req AS checkpoints_requested,
       t.autovacuum_count AS autovacuums,
       t.autoanalyze_count AS autoanalyzes,
       b.buffers_backend AS blocks_written_by_sessions,
       b.buffers_checkpoint AS blocks_written_by_checkpointer,
       b.buffers_clean AS blocks_written_by_background_writer,
       w.wal_write AS wal_writes,
       w.wal_sync AS wal_syncs,
       CASE WHEN current_setting('track_wal_io_timing')::bool
            THEN 1000 * w.wal_write_time END AS wal_write_us,
       CASE WHEN current_setting('track_wal_io_timing')::bool
            THEN 1000 * w.wal_sync_time END AS wal_sync_us,
       CASE WHEN current_setting('track_io_timing')::bool
            THEN 1000 * d.blk_read_time END AS block_read_us,
       CASE WHEN current_setting('track_io_timing')::bool
            THEN 1000 * d.blk_write_time END AS block_write_us,
       slru.slru_read,
       slru.slru_written,
       CASE WHEN current_setting('track_wal_io_timing')::bool
            THEN 1000 * (w.wal_write_time + w.wal_sync_time) END AS session_log_us,
       ARRAY[w.stats_reset, b.stats_reset, d.stats_reset]::text[] AS resets
  FROM pg_stat_wal AS w,
       pg_stat_bgwriter AS b,
       (SELECT sum(blks_hit)::bigint AS blocks_hit,
               sum(blks_read)::bigint AS blocks_read,
               sum(xact_commit)::bigint AS xact_commit,
               sum(xact_rollback)::bigint AS xact_rollback,
               sum(tup_inserted + tup_updated + tup_deleted)::bigint AS rows_changed,
               sum(deadlocks)::bigint AS deadlocks,
               sum(temp_bytes)::bigint AS temp_bytes,
               sum(blk_read_time) AS blk_read_time,
               sum(blk_write_time) AS blk_write_time,
               coalesce(sum(checksum_failures), 0)::bigint AS checksum_failures,
               max(stats_reset) FILTER (WHERE datname = current_database()) AS stats_reset
          FROM pg_stat_database) AS d,
       (SELECT coalesce(sum(autovacuum_count), 0)::bigint AS autovacuum_count,
               coalesce(sum(autoanalyze_count), 0)::bigint AS autoanalyze_count
          FROM pg_stat_all_tables) AS t,
       (SELECT sum(blks_read)::bigint AS slru_read,
               sum(blks_written)::bigint AS slru_written
          FROM pg_stat_slru) AS slru
