-- Says how many bytes of WAL were ever inserted: exact at any moment, unlike the statistics.
SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint
