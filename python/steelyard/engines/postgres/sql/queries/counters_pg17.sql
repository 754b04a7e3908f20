-- Counts everything a server did since its statistics began; 17 has pg_stat_checkpointer.
-- One read, write or extend of pg_stat_io is still one block (op_bytes is the block size).
-- `resets` is when each view was last reset: differences across a reset are no figures.
SELECT w.wal_bytes::bigint AS wal_bytes,
       w.wal_records,
       w.wal_fpi AS full_page_images,
       io.blocks_hit,
       io.blocks_read,
       io.blocks_written,
       io.blocks_extended,
       d.xact_commit AS commits,
       d.xact_rollback AS rollbacks,
       d.rows_changed,
       d.deadlocks,
       d.temp_bytes,
       d.checksum_failures,
       c.num_timed AS checkpoints_timed,
       c.num_requested AS checkpoints_requested,
       t.autovacuum_count AS autovacuums,
       t.autoanalyze_count AS autoanalyzes,
       io.blocks_read_in_bulk,
       io.blocks_read_by_vacuum,
       io.blocks_evicted,
       io.blocks_written_by_sessions,
       io.blocks_written_by_checkpointer,
       io.blocks_written_by_background_writer,
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
       ARRAY[w.stats_reset, c.stats_reset, io.stats_reset, d.stats_reset]::text[] AS resets
  FROM pg_stat_wal AS w,
       pg_stat_checkpointer AS c,
       (SELECT sum(hits)::bigint AS blocks_hit,
               sum(reads)::bigint AS blocks_read,
               sum(writes)::bigint AS blocks_written,
               sum(extends)::bigint AS blocks_extended,
               coalesce(sum(reads) FILTER (WHERE context = 'bulkread'), 0)::bigint
                 AS blocks_read_in_bulk,
               coalesce(sum(reads) FILTER (WHERE context = 'vacuum'), 0)::bigint
                 AS blocks_read_by_vacuum,
               sum(evictions)::bigint AS blocks_evicted,
               coalesce(sum(writes) FILTER (WHERE backend_type = 'client backend'), 0)::bigint
                 AS blocks_written_by_sessions,
               coalesce(sum(writes) FILTER (WHERE backend_type = 'checkpointer'), 0)::bigint
                 AS blocks_written_by_checkpointer,
               coalesce(sum(writes) FILTER (WHERE backend_type = 'background writer'), 0)::bigint
                 AS blocks_written_by_background_writer,
               max(stats_reset) AS stats_reset
          FROM pg_stat_io
         WHERE object <> 'wal') AS io,
       (SELECT sum(xact_commit)::bigint AS xact_commit,
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
