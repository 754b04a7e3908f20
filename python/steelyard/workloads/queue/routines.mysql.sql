-- MySQL before 8.0 and MariaDB before 10.6 have no SKIP LOCKED, and a load ends here.
SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
