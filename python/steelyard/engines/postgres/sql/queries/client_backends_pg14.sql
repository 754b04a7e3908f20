-- Lists the client backends besides this one: those that have gone have flushed their statistics.
SELECT pid
  FROM pg_stat_activity
 WHERE backend_type = 'client backend'
   AND pid <> pg_backend_pid()
