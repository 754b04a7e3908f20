-- Counts the client backends at work by what they wait for; "on CPU" is a wait of no type.
-- One that waits for its client has just answered or is about to be told what to do: not at work.
SELECT coalesce(wait_event_type, 'CPU') AS kind,
       coalesce(wait_event, 'CPU') AS event,
       count(*) AS backends
  FROM pg_stat_activity
 WHERE backend_type = 'client backend'
   AND state = 'active'
   AND wait_event_type IS DISTINCT FROM 'Client'
   AND pid <> pg_backend_pid()
 GROUP BY 1, 2
