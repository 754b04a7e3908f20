-- Counts everything a server did since its statistics began; from 18 on one read of pg_stat_io
-- may be of many blocks, so bytes are counted; WAL has rows of its own there and is left out.
-- 19 counts the bytes of full-page images, as they are in the log (compressed where they are), and
-- waits for locks that took longer than deadlock_timeout.
-- Reads done by io workers are counted on the process that asked for them.
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
       c.num_done AS checkpoints_done,
       io.blocks_read_in_bulk,
       io.blocks_read_by_vacuum,
       io.blocks_evicted,
       io.blocks_written_by_sessions,
       io.blocks_written_by_checkpointer,
       io.blocks_written_by_background_writer,
       lw.wal_writes,
       lw.wal_syncs,
       CASE WHEN current_setting('track_wal_io_timing')::bool
            THEN 1000 * lw.write_time END AS wal_write_us,
       CASE WHEN current_setting('track_wal_io_timing')::bool
            THEN 1000 * lw.fsync_time END AS wal_sync_us,
       CASE WHEN current_setting('track_io_timing')::bool
            THEN 1000 * d.blk_read_time END AS block_read_us,
       CASE WHEN current_setting('track_io_timing')::bool
            THEN 1000 * d.blk_write_time END AS block_write_us,
       slru.slru_read,
       slru.slru_written,
       CASE WHEN current_setting('track_wal_io_timing')::bool
            THEN 1000 * (lw.session_time) END AS session_log_us,
       w.wal_fpi_bytes::bigint AS full_page_image_bytes,
       l.lock_waits,
       l.lock_wait_us,
       l.locks_beyond_fast_path,
       ARRAY[w.stats_reset, c.stats_reset, io.stats_reset, d.stats_reset, l.stats_reset]::text[]
         AS resets
  FROM pg_stat_wal AS w,
       pg_stat_checkpointer AS c,
       (SELECT sum(hits)::bigint AS blocks_hit,
               (sum(read_bytes) / current_setting('block_size')::int)::bigint AS blocks_read,
               (sum(write_bytes) / current_setting('block_size')::int)::bigint AS blocks_written,
               (sum(extend_bytes) / current_setting('block_size')::int)::bigint AS blocks_extended,
               coalesce(sum(read_bytes) FILTER (WHERE context = 'bulkread')
                        / current_setting('block_size')::int, 0)::bigint
                 AS blocks_read_in_bulk,
               coalesce(sum(read_bytes) FILTER (WHERE context = 'vacuum')
                        / current_setting('block_size')::int, 0)::bigint
                 AS blocks_read_by_vacuum,
               sum(evictions)::bigint AS blocks_evicted,
               coalesce(sum(write_bytes) FILTER (WHERE backend_type = 'client backend')
                        / current_setting('block_size')::int, 0)::bigint
                 AS blocks_written_by_sessions,
               coalesce(sum(write_bytes) FILTER (WHERE backend_type = 'checkpointer')
                        / current_setting('block_size')::int, 0)::bigint
                 AS blocks_written_by_checkpointer,
               coalesce(sum(write_bytes) FILTER (WHERE backend_type = 'background writer')
                        / current_setting('block_size')::int, 0)::bigint
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
          FROM pg_stat_slru) AS slru,
       (SELECT sum(writes)::bigint AS wal_writes,
               sum(fsyncs)::bigint AS wal_syncs,
               sum(write_time) AS write_time,
               sum(fsync_time) AS fsync_time,
               coalesce(sum(write_time) FILTER (WHERE backend_type = 'client backend'), 0)
                 + coalesce(sum(fsync_time) FILTER (WHERE backend_type = 'client backend'), 0)
                 AS session_time
          FROM pg_stat_io
         WHERE object = 'wal') AS lw,
       (SELECT sum(waits)::bigint AS lock_waits,
               (1000 * sum(wait_time))::bigint AS lock_wait_us,
               sum(fastpath_exceeded)::bigint AS locks_beyond_fast_path,
               max(stats_reset) AS stats_reset
          FROM pg_stat_lock) AS l
